import MediaFormats
import MixModel
import TextFormats

/// The answer to an offer as it is sent: that of `webrtcbin`, corrected. Pure.
struct WebRTCAnswer: Sendable {
    private let offer: WebRTCOffer
    /// The accepted tracks of the offer.
    private let video: WebRTCOffer.Track?
    private let audio: WebRTCOffer.Track?
    private let candidates: LocalCandidates
    /// Bit rate at which the sender is asked to start, in bit/s.
    private let startBitRate: Int?

    init(
        to offer: WebRTCOffer, video: WebRTCOffer.Track?, audio: WebRTCOffer.Track?, network: WebRTCNetwork,
        startBitRate: Int? = nil
    ) {
        self.offer = offer
        self.video = video
        self.audio = audio
        candidates = LocalCandidates(network: network)
        self.startBitRate = startBitRate
    }

    /// Returns the answer with all candidates; `nil` if the client could not reach this machine by any of them.
    func text(of made: String, _ found: [LocalCandidates.Candidate]) -> String? {
        var hasFormat = false
        return candidates.insert(found, into: made) { section, line in
            guard let line else {
                guard section == video?.section, !hasFormat, let parameters = formatParameters(nil) else { return nil }
                return "a=fmtp:\(video?.format.payload ?? 0) \(parameters)"
            }
            let prefix = "a=fmtp:\(video?.format.payload ?? 0) "
            if section == video?.section, line.hasPrefix(prefix) {
                hasFormat = true
                let parameters = String(line.dropFirst(prefix.count))
                return prefix + (formatParameters(parameters) ?? parameters)
            }
            let isOpen = ["a=recvonly", "a=sendrecv", "a=sendonly"].contains(line)
            return section >= 0 && !isTaken(section) && isOpen ? "a=inactive" : line
        }
    }

    private func isTaken(_ section: Int) -> Bool {
        section == video?.section || section == audio?.section
            || (offer.sections.indices.contains(section) && offer.sections[section].kind == .application)
    }

    /// Returns the parameters of the video format with the offered profile, which `webrtcbin` leaves out (clients then
    /// assume the lowest level), and the start bit rate, which is an extension of libwebrtc.
    private func formatParameters(_ made: String?) -> String? {
        var parts = made.map { [$0] } ?? ["packetization-mode=1"]
        let lower = made?.lowercased() ?? ""
        if let profile = video?.format["profile-level-id"], !lower.contains("profile-level-id=") {
            parts.append("profile-level-id=\(profile)")
        }
        if let startBitRate, !lower.contains("x-google-start-bitrate=") {
            parts.append("x-google-start-bitrate=\(max(1, startBitRate / 1000))")
        }
        return made == nil && parts.count == 1 ? nil : parts.joined(separator: ";")
    }
}
