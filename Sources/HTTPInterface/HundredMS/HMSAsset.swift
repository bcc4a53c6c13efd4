/// A file that a session has produced.
struct HMSAsset: Hashable, Codable, Sendable {
    enum Kind: String, Hashable, Codable, Sendable {
        case composite = "room-composite"
        case onDemand = "room-vod"
    }

    var id: String
    var kind: Kind
    /// Name of the recorded file, or of the HLS session.
    var file: String
    /// Size in bytes; `nil` means unknown.
    var size: Int64?
    /// Duration in seconds.
    var duration: Double
    var createdAt: Double
}
