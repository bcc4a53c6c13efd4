import EncodedMedia
import GStreamerKit
import LayoutEngine

/// Colour conversion that keeps a source's colours the same in its own bypass and in its pane of a mix.
///
/// The canvas is signalled exactly like the program's bypass. If the bypass signals nothing, players guess, and they
/// guess the same for the mix as long as its values are not changed. An unsignalled source on an unsignalled canvas is
/// therefore copied without conversion. If only one of the two is signalled, the other is assumed to be what most
/// players assume: BT.709 from 720 lines on (720 on the shorter side or 1280 on the longer), BT.601 below.
struct CanvasColour: Hashable {
    let signal: ColourSignal
    /// Meaning of the canvas's values in conversions and for the background.
    let canvas: Colorimetry

    init(signal: ColourSignal, canvas: Canvas) {
        self.signal = signal
        self.canvas = Self.assumed(signal, width: canvas.width, height: canvas.height)
    }

    /// Returns the meaning of the values in a source's pictures.
    func colorimetry(of source: ColourSignal, width: Int, height: Int) -> Colorimetry {
        if source.matrix == nil, signal.matrix == nil {
            var same = canvas
            same.isFullRange = source.isFullRange
            return same
        }
        return Self.assumed(source, width: width, height: height)
    }

    /// Returns luma and chroma of a background colour on the canvas.
    func planes(of colour: RGB) -> (y: UInt8, u: UInt8, v: UInt8) {
        let (kr, kb) = Self.weights(matrix: canvas.matrix)
        let (r, g, b) = (Double(colour.red) / 255, Double(colour.green) / 255, Double(colour.blue) / 255)
        let luma = kr * r + (1 - kr - kb) * g + kb * b
        let (u, v) = ((b - luma) / (2 * (1 - kb)), (r - luma) / (2 * (1 - kr)))
        let isFull = canvas.isFullRange
        func byte(_ value: Double) -> UInt8 { UInt8(min(255, max(0, value.rounded()))) }
        return (
            byte(isFull ? luma * 255 : 16 + luma * 219), byte(128 + u * (isFull ? 255 : 224)),
            byte(128 + v * (isFull ? 255 : 224))
        )
    }

    private static func assumed(_ signal: ColourSignal, width: Int, height: Int) -> Colorimetry {
        let standard: Colorimetry = max(width, height) >= 1280 || min(width, height) >= 720 ? .bt709 : .bt601
        return Colorimetry(
            primaries: signal.primaries ?? standard.primaries, transfer: signal.transfer ?? standard.transfer,
            matrix: signal.matrix ?? standard.matrix, isFullRange: signal.isFullRange)
    }

    /// Returns K_R and K_B of ITU-T H.273, table 4.
    private static func weights(matrix: Int) -> (Double, Double) {
        switch matrix {
        case 1: (0.2126, 0.0722)
        case 4: (0.30, 0.11)
        case 7: (0.212, 0.087)
        case 9, 10: (0.2627, 0.0593)
        default: (0.299, 0.114)
        }
    }
}
