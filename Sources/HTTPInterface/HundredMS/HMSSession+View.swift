import EventSubscription
import Foundation
import RoomService

/// Sessions and their files in 100ms' terms. Pure.
extension HMSSession {
    /// Returns the object for answers to calls.
    ///
    /// - Parameter pictured: Files for which thumbnails exist.
    func view(pictured: Set<String> = []) -> JSONValue {
        var fields: [String: JSONValue] = [
            "id": .string(id), "room_id": .string(room.name), "session_id": .string(session),
            "status": .string(status.rawValue), "meeting_url": .string(meetingURL ?? ""),
            "destination": .string(destination ?? ""), "created_at": HMSTime.value(createdAt),
            "updated_at": HMSTime.value(updatedAt), "started_at": HMSTime.value(startedAt),
            "stopped_at": HMSTime.value(stoppedAt), "started_by": .string(""), "stopped_by": .string(""),
            "recording_assets": status == .starting
                ? .null : .array(assets.map { assetView($0, pictured, isPart: true) }),
        ]
        if let failure {
            fields["error"] = .object([
                "type": .string(failure.kind.rawValue), "message": .string(failure.message),
            ])
        }
        if let size {
            fields["resolution"] = .object([
                "width": .number(Double(size.width)), "height": .number(Double(size.height)),
            ])
        }
        switch kind {
        case .externalStream:
            fields["rtmp_urls"] = .array(outputs.map { .string($0.url) })
            fields["recording"] = .boolean(recorder != nil)
        case .liveStream:
            fields["playback"] = .object(["url": .string(playbackURL)])
            fields["recording"] = .object([
                "hls_vod": .boolean(hls?.keepsSegments ?? false),
                "single_file_per_layer": .boolean(hls?.recordsFile ?? false),
            ])
        case .recording:
            fields["asset_types"] = .array([.string(HMSAsset.Kind.composite.rawValue)])
            fields["audio_only"] = .boolean(recorder?.audioOnly ?? false)
        }
        return .object(fields)
    }

    /// - Parameters:
    ///   - pictured: Files for which thumbnails exist.
    ///   - isPart: Whether it is part of its session's view, whose ids it does not repeat.
    func assetView(_ asset: HMSAsset, _ pictured: Set<String>, isPart: Bool = false) -> JSONValue {
        var fields: [String: JSONValue] = [
            "id": .string(asset.id), "type": .string(asset.kind.rawValue), "path": .string(path(of: asset)),
            "status": .string(HMSAsset.status.rawValue), "size": .number(Double(asset.size ?? 0)),
            "duration": .number(asset.duration.rounded()), "created_at": HMSTime.value(asset.createdAt),
            "thumbnails": .array(thumbnails(of: asset, pictured).map { .string($0) }),
        ]
        var metadata: [String: JSONValue] = [:]
        // Clients tell the files of a live stream's layers from other recordings by these fields, which are texts.
        if !kind.isBeam {
            metadata["num_layers"] = .string("1")
            if asset.kind == .composite { metadata["layer"] = .string("0") }
        }
        if let size {
            metadata["resolution"] = .object([
                "width": .number(Double(size.width)), "height": .number(Double(size.height)),
            ])
        }
        fields["metadata"] = .object(metadata)
        if !isPart {
            fields["job_id"] = .string(id)
            fields["room_id"] = .string(room.name)
            fields["session_id"] = .string(session)
        }
        return .object(fields)
    }

    /// Returns the paths of thumbnails at this service. HLS has the thumbnails of the files that were recorded with it.
    private func thumbnails(of asset: HMSAsset, _ pictured: Set<String>) -> [String] {
        (asset.kind == .composite ? [asset] : assets).filter { $0.kind == .composite && pictured.contains($0.file) }
            .map { "\(path(of: $0).dropLast(4)).jpg" }
    }

    /// Returns the path of a file at this service.
    func path(of asset: HMSAsset) -> String {
        switch asset.kind {
        case .composite:
            let name = room.name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            return "/v1/rooms/\(name)/recordings/\(asset.file)"
        case .onDemand: return "\(room.livePath)/vod/\(asset.file).zip"
        }
    }

    var playbackURL: String { "\(base)\(room.livePath)/index.m3u8" }
}
