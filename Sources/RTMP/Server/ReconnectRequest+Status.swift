import MediaFormats

/// The request as a server sends it.
extension ReconnectRequest {
    /// The information object for `onStatus`, with the first 512 bytes of the explanation.
    var information: AMF0 {
        var properties: [AMF0.Property] = []
        if case .reference(let text) = target { properties.append(.init(name: Self.reference, value: .string(text))) }
        return RTMPStatus(Self.code, words ?? "").information(isError: false, and: properties)
    }
}
