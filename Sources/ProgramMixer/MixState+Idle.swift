import EncodedMedia
import MixModel

/// Idle media, which are a source of the mix without packets.
extension MixState {
    /// Begins the source, whose first picture and sound are waited for.
    mutating func beginIdle(at now: MediaTime) {
        sources[.idle] = nil
        begin(.idle)
        noteIdleTracks(lacking: [], at: now)
    }

    /// Ends the source and shows nothing of it any more.
    mutating func clearIdle() {
        sources[.idle]?.pictures = [:]
        sources[.idle]?.lastShown = nil
        end(.idle)
    }

    /// Notes which tracks the file has that is played now, so that nothing is waited for that does not come.
    mutating func noteIdleTracks(lacking: Set<Track>, at now: MediaTime) {
        if sources[.idle]?.hasEnded ?? true {
            sources[.idle] = nil
            begin(.idle)
        }
        let (fedVideo, fedSound) = (sources[.idle]?.fedVideo ?? now, sources[.idle]?.fedSound ?? now)
        sources[.idle]?.fedVideo = lacking.contains(.video) ? nil : fedVideo
        sources[.idle]?.fedSound = lacking.contains(.audio) ? nil : fedSound
    }
}
