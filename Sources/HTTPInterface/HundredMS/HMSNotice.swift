import EventSubscription
import MixModel

/// A webhook to be delivered. Its body is made from the session at the time of delivery.
struct HMSNotice: Hashable, Codable, Sendable {
    enum Event: String, Hashable, Codable, Sendable {
        case started, stopped, recorded, failed
    }

    /// Identifier; the same in every repetition.
    var id: String
    var event: Event
    /// Time in seconds since 1970.
    var at: Double
}

/// The bodies of webhooks, as 100ms sends them. Pure.
extension HMSSession {
    /// Returns the name of an event; `nil` if 100ms has none for this kind of session.
    func type(of event: HMSNotice.Event) -> String {
        let family = kind.isBeam ? "beam" : "hls"
        return switch event {
        case .started: "\(family).started.success"
        case .stopped: "\(family).stopped.success"
        case .recorded: "\(family).recording.success"
        case .failed: "\(family).failure"
        }
    }

    /// - Parameter urls: URLs with which anyone can fetch files, by the files' ids.
    func body(of notice: HMSNotice, urls: [String: String] = [:]) -> JSONValue {
        .object([
            "version": .string("2.0"), "id": .string(notice.id), "account_id": .string(app.rawValue),
            "app_id": .string(app.rawValue), "timestamp": HMSTime.value(notice.at),
            "type": .string(type(of: notice.event)), "data": .object(data(of: notice, urls)),
        ])
    }

    private func data(of notice: HMSNotice, _ urls: [String: String]) -> [String: JSONValue] {
        var data: [String: JSONValue] = [
            "room_id": .string(room.name), "room_name": .string(room.name), "session_id": .string(session),
            "beam_id": .string(id), "job_id": .string(id), "peer_id": .string(""),
            "meeting_url": .string(meetingURL ?? ""), "session_started_at": HMSTime.value(createdAt),
            "template_id": .string(""), "metadata_id": .string(notice.id),
            "metadata_timestamp": HMSTime.value(notice.at),
        ]
        if let size {
            data["max_width"] = .number(Double(size.width))
            data["max_height"] = .number(Double(size.height))
        }
        if let hls {
            data["url"] = .string(playbackURL)
            data["recording_single_file_per_layer_enabled"] = .boolean(hls.recordsFile)
            data["recording_vod_playlist_enabled"] = .boolean(hls.keepsSegments)
        } else {
            data["recording_enabled"] = .boolean(recorder != nil)
            data["rtmp"] = .array(outputs.map { .object(["url": .string($0.url)]) })
        }
        if let startedAt { data["started_at"] = HMSTime.value(startedAt) }
        switch notice.event {
        case .started: data["start_delay"] = Self.seconds((startedAt ?? createdAt) - createdAt)
        case .stopped:
            data["duration"] = Self.seconds(duration)
            data["reason"] = .string(reason ?? EndReason.request.rawValue)
            data["stopped_at"] = HMSTime.value(stoppedAt)
        case .failed:
            data["duration"] = Self.seconds(duration)
            data["error_code"] = .number(1)
            data["error_type"] = .string(failure?.kind.rawValue ?? "")
            data["error_message"] = .string(failure?.message ?? "")
        case .recorded: data.merge(recorded(urls)) { $1 }
        }
        return data
    }

    /// Fields about files: the first file of each kind at the top level, all files of a live stream in a list.
    private func recorded(_ urls: [String: String]) -> [String: JSONValue] {
        func url(_ file: HMSAsset) -> JSONValue? { urls[file.id].map { .string($0) } }
        var data: [String: JSONValue] = ["stopped_at": HMSTime.value(stoppedAt)]
        let files = assets.filter { $0.kind == .composite }
        if let first = files.first, kind.isBeam {
            data["recording_id"] = .string(first.id)
            data["recording_path"] = .string(path(of: first))
            data["recording_presigned_url"] = url(first)
            data["size"] = .number(Double(first.size ?? 0))
            data["duration"] = Self.seconds(first.duration)
            data["created_at"] = HMSTime.value(first.createdAt)
        }
        guard !kind.isBeam else { return data }
        data["recording_single_files"] = .array(
            files.map { file in
                var fields: [String: JSONValue] = [
                    "recording_id": .string(file.id), "recording_path": .string(path(of: file)),
                    "size": .number(Double(file.size ?? 0)), "duration": Self.seconds(file.duration),
                ]
                fields["recording_presigned_url"] = url(file)
                return .object(fields)
            })
        if let kept = assets.first(where: { $0.kind == .onDemand }) {
            data["hls_vod_recording_path"] = .string(path(of: kept))
            data["hls_vod_recording_presigned_url"] = url(kept)
        }
        return data
    }

    private static func seconds(_ value: Double) -> JSONValue { .number(max(0, value.rounded())) }
}
