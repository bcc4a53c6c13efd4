/// Converts 8-bit 4:2:0 pictures from one Y′CbCr matrix and range to another, exactly and in place.
///
/// GStreamer's own 8-bit matrix truncates: it is up to 1.8 off per component and 4.6 of 255 per RGB channel, always
/// towards dark, and takes 2.5 ms for 360×640, of which this takes a fraction. Transfer function and primaries stay
/// unchanged.
struct ColourMatrix: Sendable {
    /// Factors in 16.16 fixed point, rounding included.
    private let lumaScale: Int32
    private let lumaOfU: [Int32]
    private let lumaOfV: [Int32]
    private let uOfU: [Int32]
    private let uOfV: [Int32]
    private let vOfU: [Int32]
    private let vOfV: [Int32]

    /// Creates a conversion; `nil` if none is needed, or one of the matrices is unknown.
    init?(from source: Colorimetry, to destination: Colorimetry) {
        guard let from = Self.weights(source.matrix), let to = Self.weights(destination.matrix),
            from != to || source.isFullRange != destination.isFullRange
        else { return nil }
        let (input, output) = (Range(isFull: source.isFullRange), Range(isFull: destination.isFullRange))
        let (fromGreen, toGreen) = (1 - from.red - from.blue, 1 - to.red - to.blue)
        // R and B as luma plus a multiple of one chroma; G follows from luma.
        let (redOfV, blueOfU) = (2 * (1 - from.red), 2 * (1 - from.blue))
        let greenOfU = -from.blue * blueOfU / fromGreen
        let greenOfV = -from.red * redOfV / fromGreen
        let (lumaU, lumaV) = (to.blue * blueOfU + toGreen * greenOfU, to.red * redOfV + toGreen * greenOfV)
        let (uScale, vScale) = (1 / (2 * (1 - to.blue)), 1 / (2 * (1 - to.red)))
        let chroma = output.chroma / input.chroma
        let one = 65_536.0
        func table(_ factor: Double, plus constant: Double = 0) -> [Int32] {
            (0..<256).map { Int32((one * (factor * Double($0 - 128) + constant)).rounded()) }
        }
        let luma = output.luma / input.luma
        lumaScale = Int32((one * luma).rounded())
        lumaOfU = table(lumaU * output.luma / input.chroma, plus: output.black - luma * input.black + 0.5)
        lumaOfV = table(lumaV * output.luma / input.chroma)
        uOfU = table((blueOfU - lumaU) * uScale * chroma, plus: 128.5)
        uOfV = table(-lumaV * uScale * chroma)
        vOfU = table(-lumaU * vScale * chroma, plus: 128.5)
        vOfV = table((redOfV - lumaV) * vScale * chroma)
    }

    /// A plane's bytes from the first pixel of the rectangle on.
    struct Target {
        let bytes: UnsafeMutablePointer<UInt8>
        let stride: Int
    }

    /// Converts a rectangle of the given size in luma samples; odd sizes include the half-covered chroma.
    func apply(y: Target, u: Target, v: Target, width: Int, height: Int) {
        lumaOfU.withUnsafeBufferPointer { lumaOfU in
            lumaOfV.withUnsafeBufferPointer { lumaOfV in
                var row = 0
                while row < height {
                    let chromaRow = row >> 1
                    let uRow = u.bytes + chromaRow * u.stride
                    let vRow = v.bytes + chromaRow * v.stride
                    let upper = y.bytes + row * y.stride
                    // The last row of an odd height is converted once.
                    let lower = row + 1 < height ? upper + y.stride : nil
                    var column = 0
                    while column < width {
                        let chromaColumn = column >> 1
                        let shift = lumaOfU[Int(uRow[chromaColumn])] &+ lumaOfV[Int(vRow[chromaColumn])]
                        scale(upper, column, shift)
                        if let lower { scale(lower, column, shift) }
                        if column + 1 < width {
                            scale(upper, column + 1, shift)
                            if let lower { scale(lower, column + 1, shift) }
                        }
                        column &+= 2
                    }
                    row &+= 2
                }
            }
        }
        applyToChroma(u: u, v: v, width: (width + 1) / 2, height: (height + 1) / 2)
    }

    @inline(__always)
    private func scale(_ row: UnsafeMutablePointer<UInt8>, _ column: Int, _ shift: Int32) {
        row[column] = Self.clamp((Int32(row[column]) &* lumaScale &+ shift) >> 16)
    }

    private func applyToChroma(u: Target, v: Target, width: Int, height: Int) {
        uOfU.withUnsafeBufferPointer { uOfU in
            uOfV.withUnsafeBufferPointer { uOfV in
                vOfU.withUnsafeBufferPointer { vOfU in
                    vOfV.withUnsafeBufferPointer { vOfV in
                        for row in 0..<height {
                            let uRow = u.bytes + row * u.stride
                            let vRow = v.bytes + row * v.stride
                            for column in 0..<width {
                                let (oldU, oldV) = (Int(uRow[column]), Int(vRow[column]))
                                uRow[column] = Self.clamp((uOfU[oldU] &+ uOfV[oldV]) >> 16)
                                vRow[column] = Self.clamp((vOfU[oldU] &+ vOfV[oldV]) >> 16)
                            }
                        }
                    }
                }
            }
        }
    }

    @inline(__always)
    private static func clamp(_ value: Int32) -> UInt8 {
        UInt8(truncatingIfNeeded: max(0, min(255, value)))
    }

    private struct Weights: Equatable {
        let red: Double
        let blue: Double
    }

    private static func weights(_ matrix: Int) -> Weights? {
        lumaWeights(matrix).map { Weights(red: $0.red, blue: $0.blue) }
    }

    /// Returns the weights of red and blue in luma (ITU-T H.273, table 4); `nil` for an unknown matrix.
    static func lumaWeights(_ matrix: Int) -> (red: Double, blue: Double)? {
        switch matrix {
        case 1: (0.2126, 0.0722)
        case 4: (0.30, 0.11)
        case 5, 6: (0.299, 0.114)
        case 7: (0.212, 0.087)
        case 9: (0.2627, 0.0593)
        default: nil
        }
    }

    private struct Range {
        let black: Double
        let luma: Double
        let chroma: Double

        init(isFull: Bool) {
            (black, luma, chroma) = isFull ? (0, 255, 255) : (16, 219, 224)
        }
    }
}
