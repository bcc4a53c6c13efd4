import Foundation

/// The soft outline of a shadow, computed once and drawn around many rectangles.
public final class SoftBox: Sendable {
    /// Distance in pixels, even, by which the shadow extends beyond its rectangle.
    public let reach: Int
    /// Corners of the planes of I420: shares of 0…255 for the upper left one, row by row, and from right to left.
    let luma: Corner
    let chroma: Corner

    struct Corner: Sendable {
        var size: Int
        var shares: [UInt8]
        var mirrored: [UInt8]
    }

    /// - Parameters:
    ///   - radius: Radius of the rectangle's corners in pixels.
    ///   - blur: Width of the soft edge in pixels; the standard deviation is half of it.
    ///   - reach: Distance in pixels, even, beyond which the shadow is cut off.
    ///   - room: Largest radius that fits the rectangle: half of its shorter side.
    public init(radius: Int, blur: Int, reach: Int, room: Int) {
        self.reach = reach
        let deviation = Double(max(blur, 1)) / 2
        // A blurred corner is round even if the rectangle's is not.
        let bend = min(max(Double(radius), deviation), Double(room)).rounded(.down)
        luma = Self.corner(bend: bend, deviation: deviation, reach: reach, scale: 1)
        chroma = Self.corner(bend: bend, deviation: deviation, reach: reach, scale: 2)
    }

    private static func corner(bend: Double, deviation: Double, reach: Int, scale: Int) -> Corner {
        let size = max((reach + Int(bend)) / scale, 1)
        let (centre, unit) = (Double(reach) + bend, Double(scale))
        var shares = [UInt8](repeating: 0, count: size * size)
        var mirrored = shares
        for row in 0..<size {
            for column in 0..<size {
                let across = max(centre - (Double(column) + 0.5) * unit, 0)
                let down = max(centre - (Double(row) + 0.5) * unit, 0)
                let outside = (across * across + down * down).squareRoot() - bend
                let share = UInt8((erfc(outside / deviation / 2.0.squareRoot()) * 127.5).rounded())
                shares[row * size + column] = share
                mirrored[row * size + size - 1 - column] = share
            }
        }
        return Corner(size: size, shares: shares, mirrored: mirrored)
    }
}
