/// A family and a weight of letters.
///
/// Families come from a fixed list, so that a layout cannot name a file or a pattern of the font library. A family that
/// is not installed on a machine is replaced by the machine's default one.
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
