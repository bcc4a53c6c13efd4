import MixModel
import TextFormats

/// The channel events of Agora's notifications: channels and users, and their streams if the hook has a `url`.
///
/// Format: Agora's documentation, "Receive notifications" and "Channel event types". `Agora-Signature` is the HMAC-SHA1
/// of the body and `Agora-Signature-V2` its HMAC-SHA256, in hexadecimal. `clientSeq` numbers the events of a user,
/// which may arrive in a different order. Agora has no event for media: every user who may send counts as sending. A
/// notification that is not answered with 200 and JSON within 10 s is repeated up to three times.
package struct AgoraHook: EventHook {
    package let name = "agora"
    package let signsBody = true
    package let namesParticipants = true
    /// Agora assigns the secret.
    package let shortestSecret = 6

    package init() {}

    package let example = HookRequest(
        method: .post, headers: [.init(name: "content-type", value: "application/json")],
        body: Array(
            (#"{"noticeId":"2000001428:4330:107","productId":1,"eventType":103,"notifyMs":1611566412672,"#
                + #""sid":"6E9C1B0A3F","payload":{"channelName":"lobby","uid":12121212,"account":"alice","platform":1,"#
                + #""clientSeq":1611566412650,"ts":1611566412}}"#).utf8))

    /// The channel of the test notification that Agora's console sends.
    static let testChannel = "test_webhook"

    package func isAuthentic(_ request: HookRequest, secret: HookSecret) -> Bool {
        if let sign = request.header("agora-signature-v2") { return Self.matches(sign, .sha256, request, secret) }
        return request.header("agora-signature").map { Self.matches($0, .sha1, request, secret) } ?? false
    }

    private static func matches(
        _ sign: String, _ hash: HookSignature.Hash, _ request: HookRequest, _ secret: HookSecret
    ) -> Bool {
        guard let bytes = Hexadecimal.bytes(sign) else { return false }
        return HookSignature.areEqual(bytes, HookSignature.hmac(hash, of: request.body, key: secret))
    }

    package func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome {
        let document = try HookDocument(parsing: request.body)
        let type = try HookDocument.required(document["eventType"].integer, "eventType", "the number of the event")
        let steps: [ParticipantReport.Step]
        switch (document["productId"].integer, type) {
        case (1, 101): steps = [.roomOpened]
        case (1, 102): steps = [.roomClosed]
        // In the communication profile (107, 108) every user sends.
        case (1, 103), (1, 107), (1, 111): steps = [.joined(name: nil), .begins(.camera, nil)]
        case (1, 104), (1, 108), (1, 112): steps = [.left]
        // A user who only watches (105, 106) is not a participant.
        default: return .ignored("other")
        }
        let payload = document["payload"]
        let room = try HookDocument.required(payload["channelName"].text, "payload.channelName", "the channel")
        guard !room.hasSameUTF8(as: Self.testChannel) else { return .ignored("test") }
        let isAboutRoom = type < 103
        let user = isAboutRoom ? nil : payload["account"].text ?? payload["uid"].text
        guard isAboutRoom || user != nil else {
            throw InputError(.missingField, field: "payload.uid", expected: "the user")
        }
        return reader.outcome(
            "\(type)",
            of: ParticipantReport(
                room: room, user: user, app: room, name: payload["uid"].text ?? user ?? "", steps: steps,
                id: document["noticeId"].text.map { String($0.prefix(bytes: 128)) },
                sequence: isAboutRoom ? nil : payload["clientSeq"].integer.flatMap { UInt64(exactly: $0) },
                time: payload["ts"].integer.map { Double($0) }))
    }

    package func answer(_ verdict: HookVerdict, to outcome: HookOutcome?) -> HookAnswer {
        switch verdict {
        case .accepted: HookAnswer(json: #"{"code":0}"#)
        case .refused: HookAnswer(status: 403, json: #"{"code":403}"#)
        case .failed: HookAnswer(status: 503, json: #"{"code":503}"#)
        }
    }
}
