/// Estimates the width of text without a font, erring on the wide side.
enum LetterWidths {
    /// Returns the width of a text in thousandths of the letters' size.
    static func width(of text: String, isBold: Bool = false) -> Int {
        text.reduce(0) { $0 + width(of: $1, isBold: isBold) }
    }

    /// Returns the width of one character as perceived by a reader, however many code points it has. The unit is a
    /// thousandth of the letters' size.
    static func width(of character: Character, isBold: Bool) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        let index = Int(first.value) - 32
        if regular.indices.contains(index) { return Int((isBold ? bold : regular)[index]) }
        if first.properties.isDefaultIgnorableCodePoint || first.properties.generalCategory == .nonspacingMark {
            return 0
        }
        let width = isWide(first) || first.properties.isEmojiPresentation ? 1100 : width(of: first.value)
        return isBold ? width * 9 / 8 : width
    }

    /// Returns an upper bound of the width of most letters of a script in common sans-serif fonts.
    private static func width(of scalar: UInt32) -> Int {
        switch scalar {
        case 0x0590...0x05FF: 620  // Hebrew
        case 0x0600...0x08FF, 0xFB50...0xFDFF, 0xFE70...0xFEFF: 700  // Arabic and its neighbours
        case 0x0900...0x0DFF: 800  // the scripts of India
        case 0x0E00...0x0EFF: 650  // Thai, Lao
        case 0x2000...0x200A: 500  // spaces
        case 0x2010...0x2027, 0x2030...0x205E: 700  // dashes, quotes
        case 0x2190...0x2BFF: 900  // arrows, mathematics, symbols
        case 0x1F000...0x1FAFF: 1100
        default: 720
        }
    }

    /// Returns whether a character is a full em wide: Unicode's East Asian Width W and F, by blocks.
    static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }

    /// Advance widths of U+0020…U+007E in DejaVu Sans, the widest of the common sans-serif fonts, in thousandths of the
    /// letters' size.
    private static let regular: [Int16] = [
        318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636,
        636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656,
        557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613,
        635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818,
        592, 592, 525, 636, 337, 636, 838,
    ]

    /// Advance widths of the same characters in DejaVu Sans Bold.
    private static let bold: [Int16] = [
        348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696, 696,
        696, 696, 696, 696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775,
        637, 995, 837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500, 500, 675,
        716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687, 716, 716, 493, 595, 478, 712, 652, 924,
        645, 652, 582, 712, 365, 712, 838,
    ]
}
