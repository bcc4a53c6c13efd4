/// What a task's program is made of where that is not left to the room.
///
/// All of it may change while the program is on air. How large the picture is and how many frames a second it has
/// stays in `RoomSettings.canvas`.
public struct ProgramSettings: Hashable, Codable, Sendable {
    public var composition: Composition
    /// How a mix is encoded; `nil` = as the service does by itself.
    public var encoding: EncodingSettings?
    /// What is sent inside the picture for players; `nil` = nothing.
    public var sei: SEISettings?

    /// Who is on air, and how.
    public enum Composition: Hashable, Codable, Sendable {
        /// By the people in the room and the layout: one is copied, several are mixed.
        case automatic
        /// Only this stream, copied unless the policy is never to, whoever else is in the room; the slate while it is not
        /// there. The room's layout and host have no say.
        case single(SourceSelection)
        /// Always a mix, also of one, in panes of the task's own. The room's layout has no say.
        case fixed(FixedComposition)
    }

    public init(
        composition: Composition = .automatic, encoding: EncodingSettings? = nil, sei: SEISettings? = nil
    ) {
        self.composition = composition
        self.encoding = encoding
        self.sei = sei
    }
}
