//! The figures, by what they are about. Each function computes a
//! [`Figure`](crate::figure::Figure), whose numbers are public and which draws itself.
