/// The settings of a task's program, where they are not left to the room.
///
/// All of them may change while the program is on air. The size of the picture and its frame rate are in
/// `RoomSettings.canvas`.
public struct ProgramSettings: Hashable, Codable, Sendable {
    public var composition: Composition
    /// Encoding of a mix; `nil` means the service's choice.
    public var encoding: EncodingSettings?
    /// Messages sent inside the picture for players; `nil` means none.
    public var sei: SEISettings?

    /// The choice of who is on air, and how.
    public enum Composition: Hashable, Codable, Sendable {
        /// The participants in the room, arranged by the layout: one is copied, several are mixed.
        case automatic
        /// Only this stream, whichever others are in the room. It is copied unless the policy forbids that; the slate
        /// is on air while it is not there. The room's layout and host have no effect.
        case single(SourceSelection)
        /// Always a mix, even of one stream, in the task's own panes. The room's layout has no effect.
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
