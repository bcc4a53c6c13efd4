import MixModel
import TextFormats

/// The event callbacks of Tencent RTC: rooms and participants (group 1), and their media (group 2) if the hook has a `url`.
///
/// Format: Tencent's documentation, "Room & Media Webhooks" and "Verify Signature Example": `Sign` is the HMAC-SHA256
/// of the body in Base64. Rooms are numbers or strings. Events have no identifier, so that group, type, room, user and
/// time serve as one. A callback that is not answered with 200 within 5 s is repeated for a minute.
package struct TRTCHook: EventHook {
    package let name = "trtc"
    package let signsBody = true
    package let namesParticipants = true
    /// Tencent's console accepts keys of any length up to 32.
    package let shortestSecret = 6

    /// `Role` of a user who only watches, and therefore is not a participant.
    private static let viewer = 21

    package init() {}

    package let example = HookRequest(
        method: .post,
        headers: [
            .init(name: "content-type", value: "application/json"), .init(name: "sdkappid", value: "1400000123"),
        ],
        body: Array(
            (#"{"EventGroupId":2,"EventType":201,"CallbackTs":1687771803198,"EventInfo":{"RoomId":"lobby","#
                + #""EventTs":1687771803,"EventMsTs":1687771803192,"UserId":"alice"}}"#).utf8))

    package func isAuthentic(_ request: HookRequest, secret: HookSecret) -> Bool {
        guard let sign = request.header("sign").flatMap(HookBase64.decoded) else { return false }
        return HookSignature.areEqual(sign, HookSignature.hmac(.sha256, of: request.body, key: secret))
    }

    package func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome {
        let document = try HookDocument(parsing: request.body)
        let type = try HookDocument.required(document["EventType"].integer, "EventType", "the number of the event")
        let info = document["EventInfo"]
        let isViewer = info["Role"].integer == Self.viewer
        let steps: [ParticipantReport.Step]
        switch (document["EventGroupId"].integer, type) {
        case (1, 101): steps = [.roomOpened]
        case (1, 102): steps = [.roomClosed]
        case (1, 103) where isViewer, (1, 104) where isViewer: return .ignored("viewer")
        case (1, 103): steps = [.joined(name: nil)]
        // Includes the end of the media, for which there is no separate event.
        case (1, 104): steps = [.left]
        case (1, 105): steps = isViewer ? [.left] : [.joined(name: nil)]
        case (2, 201): steps = [.begins(.camera, .video)]
        case (2, 202): steps = [.ends(.camera, .video)]
        case (2, 203): steps = [.begins(.camera, .audio)]
        case (2, 204): steps = [.ends(.camera, .audio)]
        case (2, 205): steps = [.begins(.screen, nil)]
        case (2, 206): steps = [.ends(.screen, nil)]
        default: return .ignored("other")
        }
        let room = try HookDocument.required(info["RoomId"].text, "EventInfo.RoomId", "the room")
        let isAboutRoom = type < 103
        let user = isAboutRoom ? nil : info["UserId"].text
        guard isAboutRoom || user != nil else {
            throw InputError(.missingField, field: "EventInfo.UserId", expected: "the participant")
        }
        let time = HookEvent.usable(
            info["EventMsTs"].integer.map { Double($0) / 1000 } ?? info["EventTs"].integer.map { Double($0) })
        let isScreen = type == 205 || type == 206
        return reader.outcome(
            "\(type)",
            of: ParticipantReport(
                room: room, user: user, app: request.header("sdkappid") ?? "", name: isScreen ? "aux" : "main",
                steps: steps, id: time.map { "\(type):\(room):\(user ?? ""):\(Int64($0 * 1000))" }, time: time))
    }

    package func answer(_ verdict: HookVerdict, to outcome: HookOutcome?) -> HookAnswer {
        switch verdict {
        case .accepted: HookAnswer(json: #"{"code":0}"#)
        case .refused: HookAnswer(status: 403, json: #"{"code":403}"#)
        case .failed: HookAnswer(status: 503, json: #"{"code":503}"#)
        }
    }
}
