import EncodedMedia
import MixModel

/// Chooses the keyframes of a source that are decoded, and decides from their brightness whether the picture is frozen or
/// black. Pure.
///
/// All times are those of the source's media, without its stalls (`QualityWatch`), unless stated otherwise.
struct PictureWatch: Sendable {
    /// A keyframe that waits to be examined.
    struct Keyframe: Sendable {
        var frame: EncodedFrame
        var time: MediaTime
    }

    /// Shortest distance of two examined keyframes, in program time.
    static let pause = MediaTime.seconds(1)
    /// Time without an examined keyframe after which the pictures of a source are not judged.
    static let trust = MediaTime.seconds(30)

    private let freeze: Int?
    private let black: Int?
    private(set) var keyframe: Keyframe?
    /// Program time at which a keyframe was last taken to be examined; `nil` if none was.
    private(set) var takenAt: MediaTime?
    private var firstKeyframe: MediaTime?
    /// The first of the samples in succession that show the same picture, and whether there was another one before.
    private var beginning: (sample: PictureSample, time: MediaTime)?
    private var hasChanged = false
    /// Time of the first of the samples in succession that are black.
    private var blackSince: MediaTime?
    private var newest: MediaTime?

    /// - Returns: `nil` if the limits do not ask for pictures.
    init?(_ limits: QualityLimits) {
        guard limits.examinesPictures else { return nil }
        freeze = limits.freezeSeconds
        black = limits.blackSeconds
    }

    /// Whether a sample has been recorded since the pictures began.
    var isExamined: Bool { newest != nil }

    /// Keeps a keyframe until it is taken, or the next one arrives.
    mutating func took(_ frame: EncodedFrame, at time: MediaTime) {
        guard frame.isIDR else { return }
        firstKeyframe = firstKeyframe ?? time
        keyframe = Keyframe(frame: frame, time: time)
    }

    /// Returns whether there is a keyframe to examine.
    ///
    /// - Parameter now: Program time.
    func isDue(at now: MediaTime) -> Bool { keyframe != nil && takenAt.map { now - $0 >= Self.pause } ?? true }

    /// Removes and returns the waiting keyframe.
    ///
    /// - Parameter now: Program time.
    mutating func takeKeyframe(at now: MediaTime) -> Keyframe? {
        guard let taken = keyframe else { return nil }
        keyframe = nil
        takenAt = now
        return taken
    }

    /// Records the brightness of a keyframe.
    ///
    /// - Parameter time: The time of the keyframe. Samples must be recorded in order; an earlier one is ignored.
    mutating func saw(_ sample: PictureSample, at time: MediaTime) {
        guard newest.map({ time > $0 }) ?? true else { return }
        newest = time
        if !(beginning?.sample.isSamePicture(as: sample) ?? false) {
            hasChanged = beginning != nil
            beginning = (sample, time)
        }
        blackSince = sample.isBlack ? blackSince ?? time : nil
    }

    /// Forgets all pictures, because the camera is off.
    mutating func forget() {
        (keyframe, firstKeyframe, newest, beginning, blackSince) = (nil, nil, nil, nil, nil)
        hasChanged = false
    }

    /// Returns the current fault; `nil` if no keyframe has been examined for a while. A black picture is not reported as
    /// frozen.
    func fault(at time: MediaTime) -> QualityWatch.Fault? {
        guard let newest, time - newest < Self.trust else { return nil }
        if let black, let blackSince, newest - blackSince >= .seconds(Double(black)) { return .black(seconds: black) }
        if let freeze, let beginning, newest - beginning.time >= .seconds(Double(freeze)) {
            return .frozen(seconds: freeze)
        }
        return nil
    }

    /// Returns whether the pictures have been seen to be as the limits demand, or cannot be examined.
    func isProven(at time: MediaTime) -> Bool {
        guard isExamined else { return firstKeyframe.map { time - $0 >= Self.trust } ?? true }
        return (freeze == nil || hasChanged) && (black == nil || blackSince == nil)
    }
}
