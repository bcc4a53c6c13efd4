import CZlib

/// Compresses into the gzip format (RFC 1952) with zlib. Pure.
///
/// For files of up to a few hundred kilobytes that are compressed once and sent often: the whole file is in memory.
enum Gzip {
    /// Returns the compressed bytes, which are the same for the same content; `nil` if there is no memory for zlib's state of
    /// 270 kB, or for more than 4 GiB.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard let count = UInt32(exactly: bytes.count), czlib_begin_gzip(&stream) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        // zlib only reads its input, but requires a mutable pointer.
        var input = bytes
        return input.withUnsafeMutableBufferPointer { input in
            let most = deflateBound(&stream, UInt(count))
            guard let room = UInt32(exactly: most) else { return nil }
            return Array(unsafeUninitializedCapacity: Int(room)) { output, written in
                stream.next_in = input.baseAddress
                stream.avail_in = count
                stream.next_out = output.baseAddress
                stream.avail_out = room
                // One call is enough, because the output buffer is large enough for any result.
                let result = deflate(&stream, Z_FINISH)
                written = result == Z_STREAM_END ? Int(room - stream.avail_out) : 0
            }
        }
    }
}
