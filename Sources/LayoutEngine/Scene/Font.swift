/// A family and a weight of letters.
///
/// Families come from a fixed list, so that a layout can name no file and no pattern of the font library. A family that a
/// machine does not have is replaced by its default one.
public struct Font: Hashable, Codable, Sendable {
    public enum Family: String, Hashable, Codable, Sendable, CaseIterable {
        case sans, serif, mono, condensed
        case inter = "Inter"
        case lato = "Lato"
        case montserrat = "Montserrat"
        case notoSans = "Noto Sans"
        case notoSerif = "Noto Serif"
        case openSans = "Open Sans"
        case roboto = "Roboto"
    }

    public var family: Family
    public var isBold: Bool

    public init(_ family: Family = .sans, isBold: Bool = false) {
        self.family = family
        self.isBold = isBold
    }
}
