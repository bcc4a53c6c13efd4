/// A rectangle in shares of the canvas, and the participant who is shown in it.
public struct PaneTemplate: Hashable, Sendable {
    /// The choice of the participant for a pane.
    public enum Binding: Hashable, Sendable {
        /// This user's first stream, regardless of other participants.
        case user(String)
        /// The first participant with this role whom no earlier pane claims.
        case role(LayoutParticipant.Role)
        /// The first stream of the kind in `stream`.
        case anybody
        /// A slot. Remaining participants fill the slots in ascending order.
        case slot(Int)
    }

    public var binding: Binding
    /// Kind of the stream; `nil` = any. Panes that name a kind choose before those that do not.
    public var stream: LayoutParticipant.Kind?
    public var area: Area
    /// Position in the stack; higher is nearer to the viewer. Panes of equal `z` never overlap.
    public var z: Int
    /// Style of the pane; `nil` = the arrangement's.
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
