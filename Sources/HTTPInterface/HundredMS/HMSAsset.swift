import TextFormats

/// A file that a session has produced.
struct HMSAsset: Hashable, Codable, Sendable {
    enum Kind: String, Hashable, Codable, Sendable {
        case composite = "room-composite"
        case onDemand = "room-vod"
    }

    /// Status of every file: one that could not be written is not listed.
    static let status = HMSSession.Status.completed

    var id: String
    var kind: Kind
    /// Name of the recorded file, or of the HLS session.
    var file: String
    /// Size in bytes; `nil` means unknown.
    var size: Int64?
    /// Duration in seconds.
    var duration: Double
    var createdAt: Double

    /// The filter of a list request.
    struct Filter: Hashable, Sendable {
        var status: HMSSession.Status?
        /// Name of a kind. Other kinds of 100ms, such as transcripts, are not made here.
        var type: String?

        func takes(_ asset: HMSAsset) -> Bool {
            if let status, status != HMSAsset.status { return false }
            return type.map { asset.kind.rawValue.hasSameUTF8(as: $0) } ?? true
        }
    }
}
