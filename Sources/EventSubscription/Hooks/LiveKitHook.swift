import Crypto
import MixModel
import TextFormats

/// The webhooks of LiveKit: rooms, participants, and tracks if the hook has a `url`.
///
/// Format: `webhook/` and `livekit_webhook.proto` of `livekit/protocol`. `Authorization` is a JSON web token without
/// `Bearer`, signed with the API key's secret (HS256), whose claim `sha256` is the digest of the body in Base64. The
/// body is the JSON form of protocol buffers: large numbers are strings, and zeros are missing. LiveKit repeats a
/// webhook after an error up to four times.
package struct LiveKitHook: EventHook {
    package let name = "livekit"
    package let signsBody = true
    package let namesParticipants = true
    /// A room and a participant may have 64 KiB of metadata each.
    package let longestBody = 256 << 10

    package init() {}

    package let example = HookRequest(
        method: .post, headers: [.init(name: "content-type", value: "application/webhook+json")],
        body: Array(
            (#"{"event":"track_published","room":{"sid":"RM_hycBMAjmt6Ub","name":"lobby","creationTime":"1769860790"},"#
                + #""participant":{"sid":"PA_VtEdGLMxbzTp","identity":"alice","state":"ACTIVE"},"#
                + #""track":{"sid":"TR_VCk1b4","type":"VIDEO","source":"CAMERA","mimeType":"video/H264"},"#
                + #""id":"EV_eugWmGhovZmm","createdAt":"1769860800"}"#).utf8))

    package func form(neededBy secret: String) -> String? {
        Keys(secret) == nil ? "the API key and its secret as KEY:SECRET, as in LiveKit's setting keys" : nil
    }

    package func isAuthentic(_ request: HookRequest, secret: HookSecret) -> Bool {
        guard let keys = Keys(String(decoding: secret.bytes, as: UTF8.self)),
            let token = request.header("authorization")
        else { return false }
        let claims = WebToken.claims(of: token, key: keys.secret)
        guard let claims, claims.isValid(at: request.arrival),
            HookSignature.areEqual(Array((claims["iss"].text ?? "").utf8), Array(keys.key.utf8)),
            let digest = claims["sha256"].text.flatMap(HookBase64.decoded)
        else { return false }
        return HookSignature.areEqual(digest, Array(SHA256.hash(data: request.body)))
    }

    package func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome {
        let document = try HookDocument(parsing: request.body)
        let event = try HookDocument.required(
            document["event"].text, "event", "a webhook of LiveKit, such as \"event\":\"participant_joined\"")
        let participant = document["participant"]
        let joined = ParticipantReport.Step.joined(name: participant["name"].text.map(Self.shown))
        let steps: [ParticipantReport.Step]
        switch event {
        case "room_started": steps = [.roomOpened]
        case "room_finished": steps = [.roomClosed]
        case "participant_joined": steps = Self.isViewer(participant) ? [] : [joined]
        case "participant_left", "participant_connection_aborted": steps = [.left]
        // A participant who was admitted as a viewer may since have been allowed to publish.
        case "track_published": steps = Self.stream(document["track"]).map { [joined, .begins($0, $1)] } ?? []
        case "track_unpublished": steps = Self.stream(document["track"]).map { [Self.end($0, $1)] } ?? []
        default: return .ignored("other")
        }
        let room = try HookDocument.required(document["room"]["name"].text, "room.name", "the name of the room")
        let isAboutRoom = event.hasPrefix("room_")
        // LiveKit treats recorders and agents as participants.
        guard isAboutRoom || !["EGRESS", "AGENT"].contains(participant["kind"].text ?? "") else {
            return .ignored(event)
        }
        let user = isAboutRoom ? nil : participant["identity"].text
        guard isAboutRoom || user != nil else {
            throw InputError(.missingField, field: "participant.identity", expected: "the participant's identity")
        }
        return reader.outcome(
            event,
            of: ParticipantReport(
                room: room, user: user, app: room, name: user ?? "", steps: steps,
                id: document["id"].text.map { String($0.prefix(bytes: 128)) },
                time: document["createdAt"].integer.map { Double($0) }))
    }

    package func answer(_ verdict: HookVerdict, to outcome: HookOutcome?) -> HookAnswer {
        switch verdict {
        case .accepted: HookAnswer(json: "{}")
        case .refused(let reason): HookAnswer(status: 403, text: reason)
        case .failed(let reason): HookAnswer(status: 503, text: reason)
        }
    }

    /// Returns the stream to which a track belongs, and the part of the stream that it is; `nil` for data.
    ///
    /// `AUDIO` and `UNKNOWN` are zero and therefore missing.
    private static func stream(_ track: HookDocument) -> (StreamKind, ParticipantReport.Part)? {
        let type = track["type"].text ?? "AUDIO"
        guard type == "AUDIO" || type == "VIDEO" else { return nil }
        let part: ParticipantReport.Part = type == "AUDIO" ? .audio : .video
        return switch track["source"].text ?? "" {
        case "SCREEN_SHARE", "SCREEN_SHARE_AUDIO": (.screen, part)
        default: (.camera, part)
        }
    }

    /// Returns whether the participant may only watch, and therefore does not count as one. Permissions that are not granted
    /// are missing.
    private static func isViewer(_ participant: HookDocument) -> Bool {
        let permission = participant["permission"]
        return permission.exists && (permission["canPublish"].boolean != true || permission["hidden"].boolean == true)
    }

    /// Returns the end of a track. A screen share ends with its picture; a participant stays without a camera.
    private static func end(_ stream: StreamKind, _ part: ParticipantReport.Part) -> ParticipantReport.Step {
        .ends(stream, stream == .screen && part == .video ? nil : part)
    }

    private static func shown(_ name: String) -> String { String(name.prefix(bytes: EventParser.longestText)) }

    /// An API key and its secret.
    private struct Keys {
        var key: String
        var secret: HookSecret

        init?(_ text: String) {
            guard let parts = text.splitAtFirst(":"), !parts.head.isEmpty, parts.tail.utf8.count >= 16 else {
                return nil
            }
            (key, secret) = (String(parts.head), HookSecret(String(parts.tail)))
        }
    }
}
