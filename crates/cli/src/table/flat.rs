//! FlatBuffers, as far as the schema of Arrow needs them: tables of fields at offsets
//! (<https://flatbuffers.dev/internals/>).
//!
//! Every access is checked, so that bytes of any kind give an error and no panic.

/// Bytes that are not the FlatBuffer that they should be.
#[derive(Debug, PartialEq)]
pub struct Broken;

/// A table within a buffer.
#[derive(Clone, Copy)]
pub struct Flat<'b> {
    bytes: &'b [u8],
    at: usize,
}

/// The little-endian integer at a place.
macro_rules! integers {
    ($($name:ident: $kind:ty),*) => {$(
        fn $name(bytes: &[u8], at: usize) -> Result<$kind, Broken> {
            let rest = bytes.get(at..).ok_or(Broken)?;
            rest.first_chunk().map(|b| <$kind>::from_le_bytes(*b)).ok_or(Broken)
        }
    )*};
}

integers!(u16_at: u16, u32_at: u32, i32_at: i32);

impl<'b> Flat<'b> {
    /// The table at the root of a buffer.
    pub fn root(bytes: &'b [u8]) -> Result<Self, Broken> {
        Ok(Self { bytes, at: u32_at(bytes, 0)? as usize })
    }

    /// The place of a field, if the table has it.
    fn place(&self, field: usize) -> Result<Option<usize>, Broken> {
        let back = i64::from(i32_at(self.bytes, self.at)?);
        let fields = usize::try_from(self.at as i64 - back).map_err(|_| Broken)?;
        let slot = 4 + 2 * field;
        if slot + 2 > usize::from(u16_at(self.bytes, fields)?) {
            return Ok(None);
        }
        let offset = usize::from(u16_at(self.bytes, fields + slot)?);
        Ok((offset > 0).then_some(self.at + offset))
    }

    /// The place that a field points to.
    fn target(&self, field: usize) -> Result<Option<usize>, Broken> {
        let Some(place) = self.place(field)? else { return Ok(None) };
        Ok(Some(place + u32_at(self.bytes, place)? as usize))
    }

    pub fn byte(&self, field: usize) -> Result<u8, Broken> {
        match self.place(field)? {
            Some(place) => self.bytes.get(place).copied().ok_or(Broken),
            None => Ok(0),
        }
    }

    pub fn bool(&self, field: usize) -> Result<bool, Broken> {
        Ok(self.byte(field)? != 0)
    }

    pub fn table(&self, field: usize) -> Result<Option<Self>, Broken> {
        Ok(self.target(field)?.map(|at| Self { bytes: self.bytes, at }))
    }

    /// The text of a field.
    pub fn text(&self, field: usize) -> Result<Option<&'b str>, Broken> {
        let Some(items) = self.items(field, 1)? else { return Ok(None) };
        std::str::from_utf8(items).map(Some).map_err(|_| Broken)
    }

    /// The bytes of a vector whose items have this size.
    fn items(&self, field: usize, size: usize) -> Result<Option<&'b [u8]>, Broken> {
        let Some(at) = self.target(field)? else { return Ok(None) };
        let length = (u32_at(self.bytes, at)? as usize).checked_mul(size).ok_or(Broken)?;
        let items = self.bytes.get(at + 4..).and_then(|rest| rest.get(..length));
        items.map(Some).ok_or(Broken)
    }

    /// The tables of a vector.
    pub fn tables(&self, field: usize) -> Result<Vec<Self>, Broken> {
        let Some(items) = self.items(field, 4)? else { return Ok(Vec::new()) };
        let start = items.as_ptr().addr() - self.bytes.as_ptr().addr();
        let table = |place: usize| {
            let at = place + u32_at(self.bytes, place)? as usize;
            Ok(Self { bytes: self.bytes, at })
        };
        (0..items.len() / 4).map(|i| table(start + 4 * i)).collect()
    }
}
