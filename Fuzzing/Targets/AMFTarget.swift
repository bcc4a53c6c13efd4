import MediaFormats

/// Commands and metadata of RTMP peers.
enum AMFTarget: FuzzTarget {
    static let name = "amf"

    static var seeds: [[UInt8]] {
        let object = AMF0.object([
            .init(name: "level", value: .string("status")), .init(name: "code", value: .string("NetStream.Play.Start")),
        ])
        return [
            [.string("_result"), .number(1), .null, object], [.string("onMetaData"), .ecmaArray([])],
            [.array([.boolean(true), .object([.init(name: "a", value: .array([.null]))])])],
        ]
        .map { (values: [AMF0]) in values.reduce(into: []) { $1.encode(into: &$0) } }
    }

    static func run(_ bytes: [UInt8]) {
        let values = AMF0.decodeAll(bytes)
        require(values.count <= AMF0.mostValues, "\(values.count) values")
        // What was read can be written, and is then read as the same bytes.
        let written = values.reduce(into: []) { $1.encode(into: &$0) }
        let again = AMF0.decodeAll(written).reduce(into: [UInt8]()) { $1.encode(into: &$0) }
        require(again == written, "what was written is read as something else")
    }
}
