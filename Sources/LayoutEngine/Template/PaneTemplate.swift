/// A rectangle in shares of the canvas and who is shown in it.
public struct PaneTemplate: Hashable, Sendable {
    /// Who is shown in a pane.
    public enum Binding: Hashable, Sendable {
        /// This user's first stream, whoever else is there.
        case user(String)
        /// The first person with this role whom no pane before it claims.
        case role(LayoutParticipant.Role)
        /// The first stream of the kind that `stream` says.
        case anybody
        /// Those left over fill the slots in ascending order.
        case slot(Int)
    }

    public var binding: Binding
    /// Only a stream of this kind; panes that name one choose before those that do not.
    public var stream: LayoutParticipant.Kind?
    public var area: Area
    /// Higher is nearer to the viewer; panes of equal `z` never overlap.
    public var z: Int
    /// `nil`: as the arrangement says.
    public var style: PaneStyle?

    public init(
        binding: Binding, stream: LayoutParticipant.Kind? = nil, area: Area, z: Int = 0, style: PaneStyle? = nil
    ) {
        self.binding = binding
        self.stream = stream
        self.area = area
        self.z = z
        self.style = style
    }

    func matches(_ person: LayoutParticipant) -> Bool {
        guard stream == nil || stream == person.kind else { return false }
        return switch binding {
        case .user(let user): person.user == user
        case .role(let role): person.role == role
        case .anybody, .slot: true
        }
    }
}
