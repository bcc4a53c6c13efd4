/// One stream that a scene may show, as the caller knows it at this moment.
///
/// A person who shares a camera and a screen is two participants with the same `user`.
public struct LayoutParticipant: Hashable, Codable, Sendable {
    /// What a person is in the room; hosts come before guests.
    public enum Role: String, Hashable, Codable, Sendable, CaseIterable {
        case host, guest
    }

    /// The stream, `user/stream`; becomes `Pane.source`.
    public var source: String
    public var user: String
    public var role: Role
    /// Position in the order of arrival; any integers, only their order counts.
    public var joinOrder: Int
    /// Without a picture (camera off, audio only) a participant gets no pane and does not count as one of the people.
    public var hasVideo: Bool
    public var hasAudio: Bool

    public init(
        source: String, user: String, role: Role = .guest, joinOrder: Int, hasVideo: Bool = true,
        hasAudio: Bool = true
    ) {
        self.source = source
        self.user = user
        self.role = role
        self.joinOrder = joinOrder
        self.hasVideo = hasVideo
        self.hasAudio = hasAudio
    }
}

extension LayoutParticipant {
    /// The order in which slots are given away: hosts first, then as people joined, then by name so that equal
    /// join orders cannot make two runs differ.
    static func precedes(_ left: LayoutParticipant, _ right: LayoutParticipant) -> Bool {
        if left.role != right.role { return left.role == .host }
        if left.joinOrder != right.joinOrder { return left.joinOrder < right.joinOrder }
        return left.source < right.source
    }
}
