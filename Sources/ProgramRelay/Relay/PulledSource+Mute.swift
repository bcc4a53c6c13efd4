import EncodedMedia
import MediaFormats

/// Sources that an operator has muted.
extension PulledSource {
    /// Returns a frame as viewers and mixers get it: of a muted source, silence of the same length and at the same time in
    /// place of sound. `nil` for a muted frame in a format of which no silence is known; it is left out.
    ///
    /// Nothing changes on the program's timeline, so that neither muting nor its end is a switch. The source's own
    /// frames are kept as they are.
    func audible(_ frame: EncodedFrame) -> EncodedFrame? {
        guard planned.muted ?? false, frame.track == .audio else { return frame }
        guard let silence = timeline.audioFormat.flatMap(SilentAAC.frame) else { return nil }
        var silent = frame
        silent.payload = silence
        return silent
    }
}
