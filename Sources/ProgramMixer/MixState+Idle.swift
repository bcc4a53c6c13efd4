import EncodedMedia
import MixModel

/// Idle media, which is a source of the mix without packets.
extension MixState {
    /// Begins the source, and waits for its first picture and audio.
    mutating func beginIdle(at now: MediaTime) {
        sources[.idle] = nil
        begin(.idle)
        noteIdleTracks(lacking: [], at: now)
    }

    /// Ends the source and stops showing it.
    mutating func clearIdle() {
        sources[.idle]?.pictures = [:]
        sources[.idle]?.lastShown = nil
        end(.idle)
    }

    /// Records which tracks the current file has, so that the mix does not wait for missing ones.
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
