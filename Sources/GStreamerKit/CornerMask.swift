/// The share of each pixel in a rectangle's corner that lies inside its rounded outline, computed once and used for
/// many frames.
///
/// May also be the outline's inner edge, `inset` pixels further inside.
public final class CornerMask: Sendable {
    /// Side of the square in pixels, even.
    public let size: Int
    /// Shares of 0…255, row by row, for the upper left corner: `size` rows for luma, half as many for chroma.
    let luma: [UInt8]
    let chroma: [UInt8]

    /// - Parameters:
    ///   - radius: Radius of the outer corner in pixels.
    ///   - inset: Distance of the outline from the rectangle's edge in pixels; the outline's radius is smaller by this
    ///     amount.
    public init(radius: Int, inset: Int = 0) {
        let size = (max(radius, inset, 1) + 1) & ~1
        let inner = Double(max(radius - inset, 0))
        let centre = Double(max(radius, inset))
        var luma = [UInt8](repeating: 255, count: size * size)
        for row in 0..<size {
            for column in 0..<size {
                let (x, y) = (Double(column) + 0.5, Double(row) + 0.5)
                let (across, down) = (max(centre - x, 0), max(centre - y, 0))
                // Distance to the outline, positive inside. An edge cuts a pixel approximately like a straight line.
                let distance =
                    across > 0 && down > 0
                    ? inner - (across * across + down * down).squareRoot() : min(x, y) - Double(inset)
                luma[row * size + column] = UInt8(min(max(distance + 0.5, 0), 1) * 255)
            }
        }
        let half = size / 2
        var chroma = [UInt8](repeating: 255, count: half * half)
        for row in 0..<half {
            for column in 0..<half {
                let first = row * 2 * size + column * 2
                let sum =
                    Int(luma[first]) + Int(luma[first + 1]) + Int(luma[first + size]) + Int(luma[first + size + 1])
                chroma[row * half + column] = UInt8(sum / 4)
            }
        }
        (self.size, self.luma, self.chroma) = (size, luma, chroma)
    }
}
