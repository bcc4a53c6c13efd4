extension Font.Family {
    /// The names that the font library looks for, in order of preference.
    var names: String {
        switch self {
        case .sans: SVG.fontFamily
        case .serif: "DejaVu Serif,serif"
        case .mono: "DejaVu Sans Mono,monospace"
        case .condensed: "DejaVu Sans Condensed,\(SVG.fontFamily)"
        default: "\(rawValue),\(SVG.fontFamily)"
        }
    }
}
