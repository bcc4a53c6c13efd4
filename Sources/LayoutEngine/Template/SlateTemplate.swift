/// The message on the slate, which is shown while no participant is on air.
public struct SlateTemplate: Hashable, Sendable {
    /// The large line, at most 256 bytes; empty for none.
    public var title: String
    /// The small line below the title, at most 256 bytes; empty for none.
    public var subtitle: String
    public var font: Font.Family

    public init(
        title: String = "We’ll be right back", subtitle: String = "The show goes on in a moment",
        font: Font.Family = .sans
    ) {
        self.title = title
        self.subtitle = subtitle
        self.font = font
    }
}
