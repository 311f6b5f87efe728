"""The random numbers that golden files and the tests in Rust both make."""


class Uniform:
    """A linear congruential generator, exact in 64-bit integers."""

    def __init__(self, state):
        self.state = state

    def __call__(self):
        self.state = (1103515245 * self.state + 12345) % 2**31
        return self.state / 2**31

    def normal(self):
        """Nearly normal."""
        total = 0.0
        for _ in range(12):
            total += self()
        return total - 6.0
