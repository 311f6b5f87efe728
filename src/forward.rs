//! Methods that call the same method of something else.

/// Defines methods that call the same method of a receiver, with the same arguments:
/// `forward! { self => (**self); fn dim() -> usize; }`.
macro_rules! forward {
    ($self:ident => $to:expr; $(
        $(#[$attribute:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)?;
    )*) => {$(
        $(#[$attribute])*
        fn $name(&$self $(, $arg: $type)*) $(-> $out)? {
            $to.$name($($arg),*)
        }
    )*};
}
