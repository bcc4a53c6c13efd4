/// A file that a session has left.
struct HMSAsset: Hashable, Codable, Sendable {
    enum Kind: String, Hashable, Codable, Sendable {
        case composite = "room-composite"
        case onDemand = "room-vod"
    }

    var id: String
    var kind: Kind
    /// Name of the recorded file, or of the HLS session.
    var file: String
    /// In bytes; `nil` = unknown.
    var size: Int64?
    /// In seconds.
    var duration: Double
    var createdAt: Double
}
