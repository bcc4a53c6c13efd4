import EncodedMedia
import MediaFormats

/// The way in which players convert a program's samples to colours.
struct ViewerColour: Hashable, Sendable {
    /// `matrix_coefficients` as signalled (ITU-T H.264 table E-5); `nil` if not signalled.
    var matrix: Int?
    var isFullRange: Bool
    /// Height of the picture in pixels, on which some players base their guess.
    var height: Int

    init(matrix: Int?, isFullRange: Bool, height: Int) {
        self.matrix = matrix
        self.isFullRange = isFullRange
        self.height = height
    }

    init(configuration: CodecConfiguration?) {
        let parameters = configuration.flatMap { VideoConfiguration($0) }?.sequenceParameters
        self.init(
            matrix: parameters?.colour.matrix, isFullRange: parameters?.colour.isFullRange ?? false,
            height: parameters?.height ?? 0)
    }

    /// The matrices that players use: the signalled one, or the usual guesses (BT.601 always; BT.709 always; by the
    /// height of the picture).
    private var guesses: [ColourSample.Matrix] {
        switch matrix {
        case 1: [.bt709, .bt709, .bt709]
        case 5, 6: [.bt601, .bt601, .bt601]
        default: [.bt601, .bt709, height >= 720 ? .bt709 : .bt601]
        }
    }

    /// Returns the largest difference in a channel, of 255, on any such player.
    static func greatestDifference(
        _ one: ColourSample, _ first: ViewerColour, _ two: ColourSample, _ second: ViewerColour
    ) -> Double {
        zip(first.guesses, second.guesses).map { before, after in
            let left = one.rgb(matrix: before, isFullRange: first.isFullRange)
            let right = two.rgb(matrix: after, isFullRange: second.isFullRange)
            return zip(left, right).map { abs($0 - $1) }.max() ?? 0
        }.max() ?? 0
    }
}
