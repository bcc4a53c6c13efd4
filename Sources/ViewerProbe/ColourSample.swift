import LayoutEngine

/// The mean colour of an area in video's own representation: 8 bits, limited range (ITU-R BT.601 §3.5), not rounded.
struct ColourSample: Hashable, Codable, Sendable {
    /// The coefficients of ITU-R BT.601 or BT.709 §3.
    enum Matrix: Sendable, CaseIterable {
        case bt601, bt709

        var red: Double { self == .bt601 ? 0.299 : 0.2126 }
        var blue: Double { self == .bt601 ? 0.114 : 0.0722 }
    }

    var luma: Double
    /// The Cb component.
    var blue: Double
    /// The Cr component.
    var red: Double

    init(luma: Double, blue: Double, red: Double) {
        self.luma = luma
        self.blue = blue
        self.red = red
    }

    init(_ colour: RGB, matrix: Matrix) {
        let (r, g, b) = (Double(colour.red) / 255, Double(colour.green) / 255, Double(colour.blue) / 255)
        let y = matrix.red * r + (1 - matrix.red - matrix.blue) * g + matrix.blue * b
        luma = 16 + 219 * y
        blue = 128 + 112 * (b - y) / (1 - matrix.blue)
        red = 128 + 112 * (r - y) / (1 - matrix.red)
    }

    /// Returns red, green and blue as displayed, 0…255, not rounded.
    func rgb(matrix: Matrix, isFullRange: Bool) -> [Double] {
        let y = isFullRange ? luma / 255 : (luma - 16) / 219
        let scale: Double = isFullRange ? 255 : 224
        let b = y + 2 * (1 - matrix.blue) * (blue - 128) / scale
        let r = y + 2 * (1 - matrix.red) * (red - 128) / scale
        let g = (y - matrix.red * r - matrix.blue * b) / (1 - matrix.red - matrix.blue)
        return [r, g, b].map { min(max($0 * 255, 0), 255) }
    }

    /// Returns the sample whose three components are the medians of those of `samples`; `nil` if there are none.
    static func median(_ samples: [ColourSample]) -> ColourSample? {
        guard let luma = samples.map(\.luma).median, let blue = samples.map(\.blue).median,
            let red = samples.map(\.red).median
        else { return nil }
        return ColourSample(luma: luma, blue: blue, red: red)
    }
}
