import MixModel
import RoomChannel

extension OrchestratorError {
    /// Creates the answer to a message that a channel refuses.
    package init(_ refusal: ChannelRefusal) {
        let kind: Kind =
            switch refusal {
            case .slowMode, .tooFast, .roomTooFast: .exhausted
            case .tooManyMuted: .conflict
            case .muted, .forbiddenWord: .forbidden
            case .unknownMessage: .notFound
            case .empty, .tooLong, .nameTooLong, .controlCharacters, .badCount, .wrongFields, .noGift, .badRules:
                .invalid
            }
        self.init(
            kind, "channel-\(refusal.code)", "The channel refuses it", detail: refusal.description,
            retryAfter: refusal.retryAfter)
    }

    static func noChannelRoom(_ room: RoomID) -> OrchestratorError {
        .notFound("room", room.name, cure: "create it with PUT /v1/rooms/\(room.name), or publish in it")
    }

    static let noReply = OrchestratorError(
        .failed, "node-refused", "The node that has the room sent an unexpected answer",
        detail: "all nodes must run the same release")

    static let notOpener = OrchestratorError(
        .forbidden, "channel-not-opener", "The room was not opened by this user",
        detail: "only the user who opened the room, or a moderator, may open it again or close it")

    static func channelsFull(_ what: String, setting: String) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "channel-full", "The channel takes no more viewers",
            detail: "\(what), which is the limit: retry later, or raise \(setting)", retryAfter: 10)
    }
}
