/// A selection of the streams that match every property that is not `nil`.
public struct StreamSelector: Hashable, Sendable {
    public var user: String?
    public var role: LayoutParticipant.Role?
    public var stream: LayoutParticipant.Kind?

    public init(user: String? = nil, role: LayoutParticipant.Role? = nil, stream: LayoutParticipant.Kind? = nil) {
        self.user = user
        self.role = role
        self.stream = stream
    }

    func matches(_ person: LayoutParticipant) -> Bool {
        (stream == nil || stream == person.kind) && (role == nil || role == person.role)
            && (user == nil || user == person.user)
    }
}
