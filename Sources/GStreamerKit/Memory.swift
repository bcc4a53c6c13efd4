import CGStreamer

/// A counted reference to a GObject, released with the last Swift reference.
///
/// `@unchecked Sendable`: the count is atomic, and GStreamer's objects lock themselves.
final class ObjectRef<Object>: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<Object>

    /// Takes over a reference that the caller owns ("transfer full").
    init(adopting pointer: UnsafeMutablePointer<Object>) { self.pointer = pointer }

    /// Takes over a floating reference, as returned by element and pipeline factories.
    init(sinking pointer: UnsafeMutablePointer<Object>) {
        gst_object_ref_sink(pointer)
        self.pointer = pointer
    }

    /// Adds a reference to an object that has another owner ("transfer none").
    init(retaining pointer: UnsafeMutablePointer<Object>) {
        gst_object_ref(pointer)
        self.pointer = pointer
    }

    deinit { gst_object_unref(pointer) }
}

/// Carries a Swift value through the user data of a C callback: `retain` when the callback is set, `peek` in the
/// trampoline, `releaseBox` as the destroy notify.
final class CallbackBox<Body: Sendable>: Sendable {
    let body: Body

    private init(_ body: Body) { self.body = body }

    static func retain(_ body: Body) -> UnsafeMutableRawPointer {
        Unmanaged.passRetained(CallbackBox(body)).toOpaque()
    }

    /// Returns the value behind `data`, which must come from `retain` of the same type.
    static func peek(_ data: UnsafeMutableRawPointer?) -> Body? {
        guard let data else { return nil }
        return Unmanaged<CallbackBox<Body>>.fromOpaque(data).takeUnretainedValue().body
    }
}

/// Destroy notify of every `CallbackBox`.
func releaseBox(_ data: UnsafeMutableRawPointer?) {
    guard let data else { return }
    Unmanaged<AnyObject>.fromOpaque(data).release()
}

/// Returns the text of a C string that the caller owns, and frees the string.
func consumingText(of text: UnsafeMutablePointer<CChar>?) -> String? {
    guard let text else { return nil }
    defer { g_free(text) }
    return String(cString: text)
}

/// Returns the message of an error that the caller owns, and frees the error.
func consumingText(of error: UnsafeMutablePointer<GError>?) -> String {
    guard let error else { return "no reason given" }
    defer { g_error_free(error) }
    return String(cString: error.pointee.message)
}

/// Converts a time from GStreamer, where "no time" becomes `nil`.
func optionalTime(_ time: GstClockTime) -> UInt64? {
    time == cgst_no_time() ? nil : UInt64(time)
}

/// Converts a time for GStreamer, where `nil` becomes "no time".
func clockTime(_ time: UInt64?) -> GstClockTime {
    time.map { GstClockTime($0) } ?? cgst_no_time()
}

/// Sets the times of a buffer in ns. Its caller must be the only holder of the buffer.
func setTimes(of buffer: UnsafeMutablePointer<GstBuffer>, pts: UInt64?, dts: UInt64?, duration: UInt64?) {
    buffer.pointee.pts = clockTime(pts)
    buffer.pointee.dts = clockTime(dts)
    buffer.pointee.duration = clockTime(duration)
}

/// Returns a new buffer with a copy of `bytes`, which the caller owns; `nil` without memory for it. Times are in ns.
func makeBuffer(
    copying bytes: UnsafeRawBufferPointer, pts: UInt64?, dts: UInt64?, duration: UInt64?, isDelta: Bool
) -> UnsafeMutablePointer<GstBuffer>? {
    // GStreamer cannot copy zero bytes.
    let made = bytes.isEmpty ? gst_buffer_new() : gst_buffer_new_memdup(bytes.baseAddress, gsize(bytes.count))
    guard let buffer = made else { return nil }
    setTimes(of: buffer, pts: pts, dts: dts, duration: duration)
    cgst_buffer_set_delta(buffer, isDelta ? 1 : 0)
    return buffer
}
