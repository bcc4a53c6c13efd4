import CGStreamer

/// An element of a pipeline. Holds a reference: release it before the pipeline is expected to be freed.
public struct Element: Sendable {
    public let name: String
    let reference: ObjectRef<GstElement>

    init(_ reference: ObjectRef<GstElement>, name: String) {
        self.reference = reference
        self.name = name
    }

    /// Sets a property from text: numbers, booleans, names of enum values, caps. Text that does not fit the
    /// property's type is ignored by GStreamer.
    ///
    /// - Throws: `GStreamerError` (`.notFound`) if the element has no such property.
    public func set(_ property: String, to text: String) throws(GStreamerError) {
        guard cgst_has_property(reference.pointer, property) != 0 else {
            throw GStreamerError(.notFound, "element '\(name)' has no property '\(property)'")
        }
        gst_util_set_object_arg(gobject(reference.pointer), property, text)
    }

    /// Makes an `rtspsrc` fail instead of sending a request to a host other than these, for example after a redirect.
    /// IPv6 addresses have no brackets.
    package func sendRequestsOnly(to hosts: [String]) {
        let spelled = hosts.map { $0.contains(":") ? "[\($0)]" : $0 }
        cgst_restrict_requests(reference.pointer, spelled.joined(separator: "\n"))
    }

    /// Returns a property as text; `nil` if the element lacks it or it has no text form.
    public func text(_ property: String) -> String? {
        consumingText(of: cgst_property_text(reference.pointer, property))
    }

    /// Returns an unsigned number from a property that is a structure, such as `out-bytes-acked` in `stats`.
    public func statistic(_ field: String, of property: String = "stats") -> UInt64? {
        guard cgst_has_property(reference.pointer, property) != 0 else { return nil }
        var value: UInt64 = 0
        var result: guint64 = 0
        guard cgst_statistic(reference.pointer, property, field, &result) != 0 else { return nil }
        value = UInt64(result)
        return value
    }

    /// Asks the encoder before this element for a keyframe.
    ///
    /// - Parameter pad: The element's pad on which the pictures arrive.
    public func requestKeyframe(from pad: String) { _ = cgst_request_keyframe(reference.pointer, pad) }

    /// Returns whether the pad of this name is linked to another element's.
    public func isLinked(_ pad: String) -> Bool {
        guard let pad = gst_element_get_static_pad(reference.pointer, pad) else { return false }
        defer { gst_object_unref(pad) }
        return gst_pad_is_linked(pad) != 0
    }

    private func gobject(_ pointer: UnsafeMutablePointer<GstElement>) -> UnsafeMutablePointer<GObject> {
        UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: GObject.self)
    }
}
