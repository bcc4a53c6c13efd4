import Foundation
import MixModel

/// The HLS of a room as the API shows it.
struct HLSView: Encodable {
    struct Variant: Encodable {
        /// Path of the playlist at this service.
        var url: String
        /// Free text of the client that requested the variant.
        var metadata: String?
        /// Start time, in ISO 8601.
        var startedAt: String?
        var width: Int
        var height: Int
        /// Maximum bandwidth, in bit/s.
        var bandwidth: Int
        var error: String?
    }

    /// Playlist and archive of a session that is kept.
    struct OnDemand: Encodable {
        /// Path of a playlist that contains the session so far and only grows.
        var url: String
        /// Path of one file with the whole session, which is available once the session has ended.
        var archive: String
    }

    var running: Bool
    var error: ServiceState.Failure?
    var variants: [Variant]
    var onDemand: OnDemand?

    private enum CodingKeys: CodingKey { case running, error, variants, onDemand }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(running, forKey: .running)
        try container.encode(error, forKey: .error)
        try container.encode(variants, forKey: .variants)
        try container.encodeIfPresent(onDemand, forKey: .onDemand)
    }

    init(_ status: HLSStatus?, settings: HLSSettings?, room: RoomID) {
        running = status?.service.running ?? false
        error = status?.service.error
        let base = room.livePath
        let session = status?.session ?? ""
        variants = (status?.variants ?? []).enumerated().map { index, variant in
            Variant(
                url: index == 0 ? "\(base)/index.m3u8" : "\(base)/hls/\(session)/\(variant.name).m3u8",
                metadata: variant.metadata,
                startedAt: status?.startedAt.map { Date(timeIntervalSince1970: $0).formatted(.iso8601) },
                width: variant.width, height: variant.height, bandwidth: variant.bandwidth, error: variant.error)
        }
        if settings?.enableVOD == true, !session.isEmpty {
            onDemand = OnDemand(url: "\(base)/hls/\(session)/event.m3u8", archive: "\(base)/vod/\(session).zip")
        }
    }
}
