import MixModel
import TextFormats

/// The room callbacks of ApsaraVideo Live (`CreateEventSub`): channels and users, and their streams if the hook has a
/// `url`.
///
/// Format: Alibaba Cloud's documentation of `CreateEventSub`: JSON with several events, which are not signed, so that
/// the secret must be part of the callback's URL. Times are in seconds; `MsgId` identifies the message.
package struct ApsaraVideoHook: EventHook {
    package let name = "apsaravideo"
    package let namesParticipants = true

    package init() {}

    package let example = HookRequest(
        method: .post, headers: [.init(name: "content-type", value: "application/json")],
        body: Array(
            (#"{"MsgId":"b2d6a8c0-1","MsgTimestamp":1769860800,"SubscribeID":"sub-1","AppId":"app-1","ChannelID":"lobby","#
                + #""Contents":[{"Event":"UserEvent","UserEvent":{"UserId":"alice","EventTag":"Publish","#
                + #""SessionId":"0dr15rrnhk","Timestamp":1769860800,"Reason":1,"Role":1,"TerminalType":1}}]}"#).utf8))

    /// Maximum number of events read from one message.
    static let mostContents = 100

    package func outcome(of request: HookRequest, reader: HookReader) throws(InputError) -> HookOutcome {
        let document = try HookDocument(parsing: request.body)
        let contents = document["Contents"].elements.prefix(Self.mostContents)
        guard !contents.isEmpty else { return .ignored("other") }
        let room = document["ChannelID"].text ?? document["ChannelId"].text
        let message = document["MsgId"].text.map { String($0.prefix(bytes: 128)) }
        var whole = HookOutcome(call: "other", weight: .informative)
        for (index, content) in contents.enumerated() {
            let isChannel = content["Event"].text == "ChannelEvent"
            let event = content[isChannel ? "ChannelEvent" : "UserEvent"]
            let tag = event["EventTag"].text ?? ""
            guard
                let steps = Self.steps(tag, ofChannel: isChannel, isViewer: event["Role"].integer == Self.viewer)
            else { continue }
            let user =
                isChannel
                ? nil
                : try HookDocument.required(
                    event["UserId"].text, "Contents[\(index)].UserEvent.UserId", "the user")
            let channel = try HookDocument.required(
                room ?? event["ChannelId"].text, "ChannelID", "the channel")
            let outcome = reader.outcome(
                tag,
                of: ParticipantReport(
                    room: channel, user: user, app: document["AppId"].text ?? "", name: user ?? "", steps: steps,
                    id: message.map { "\($0)/\(index)" },
                    time: (event["Timestamp"].integer ?? document["MsgTimestamp"].integer).map { Double($0) }))
            whole.call = tag
            whole.events += outcome.events
            whole.unmatched = whole.unmatched ?? outcome.unmatched
            whole.refusal = whole.refusal ?? outcome.refusal
        }
        return whole
    }

    package func answer(_ verdict: HookVerdict, to outcome: HookOutcome?) -> HookAnswer {
        switch verdict {
        // Success is the status 200, not every 2xx.
        case .accepted: HookAnswer(json: #"{"code":0}"#)
        case .refused(let reason): HookAnswer(status: 403, text: reason)
        case .failed(let reason): HookAnswer(status: 503, text: reason)
        }
    }

    /// `Role` of a user who only watches, and therefore is not a participant.
    private static let viewer = 2

    /// Returns the meaning of an event; `nil` if it concerns no participant, or is unknown.
    private static func steps(
        _ tag: String, ofChannel isChannel: Bool, isViewer: Bool
    ) -> [ParticipantReport.Step]? {
        switch (isChannel, tag) {
        case (true, "Open"): [.roomOpened]
        case (true, "Close"): [.roomClosed]
        case (false, "Join") where isViewer, (false, "Leave") where isViewer: nil
        case (false, "Join"): [.joined(name: nil)]
        case (false, "Leave"): [.left]
        case (false, "Roleupdate"): isViewer ? [.left] : [.joined(name: nil)]
        case (false, "Publish"): [.joined(name: nil), .begins(.camera, nil)]
        case (false, "Unpublish"): [.ends(.camera, nil)]
        default: nil
        }
    }
}
