import MediaFormats
import MixModel
import TextFormats

/// The answer to a publisher's offer as it is sent: what `webrtcbin` has made, mended. Pure.
struct WebRTCAnswer: Sendable {
    /// A candidate of this side and the media section that it was found for.
    struct Candidate: Hashable, Sendable {
        var section: Int
        var text: String
    }

    /// Candidates that are taken at most: a machine may have many addresses.
    static let mostCandidates = 64

    private let offer: WebRTCOffer
    private let publication: WebRTCOffer.Publication
    private let network: WebRTCNetwork
    /// Bit rate at which the sender is asked to begin, in bit/s.
    private let startBitRate: Int?

    init(
        to offer: WebRTCOffer, _ publication: WebRTCOffer.Publication, network: WebRTCNetwork, startBitRate: Int?
    ) {
        self.offer = offer
        self.publication = publication
        self.network = network
        self.startBitRate = startBitRate
    }

    /// Returns the answer with all candidates; `nil` if there is none by which the client could reach this machine.
    func text(of made: String, _ candidates: [Candidate]) -> String? {
        let chosen = chosen(of: candidates)
        guard !chosen.isEmpty else { return nil }
        var lines: [String] = []
        var section = -1
        var hasFormat = false
        func endSection() {
            guard section >= 0 else { return }
            if section == publication.video.section, !hasFormat, let parameters = formatParameters(nil) {
                lines.append("a=fmtp:\(publication.video.format.payload) \(parameters)")
            }
            let own = chosen.filter { $0.section == section }
            lines += own.map { "a=\($0.text)" }
            if !own.isEmpty { lines.append("a=end-of-candidates") }
        }
        for line in made.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).map({ String(Substring($0)) }) {
            if line.hasPrefix("m=") {
                endSection()
                section += 1
            }
            if line.hasPrefix("a=candidate:") || line == "a=end-of-candidates" { continue }
            let prefix = "a=fmtp:\(publication.video.format.payload) "
            if section == publication.video.section, line.hasPrefix(prefix) {
                hasFormat = true
                let parameters = formatParameters(String(line.dropFirst(prefix.count)))
                lines.append(prefix + (parameters ?? String(line.dropFirst(prefix.count))))
            } else if section >= 0, !isTaken(section), ["a=recvonly", "a=sendrecv", "a=sendonly"].contains(line) {
                lines.append("a=inactive")
            } else {
                lines.append(line)
            }
        }
        endSection()
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    private func isTaken(_ section: Int) -> Bool {
        section == publication.video.section || section == publication.audio?.section
            || (offer.sections.indices.contains(section) && offer.sections[section].kind == .application)
    }

    /// Returns the parameters of the video format with the offered profile, which `webrtcbin` leaves out (clients then
    /// assume the lowest level), and the bit rate to begin with, which is libwebrtc's own.
    private func formatParameters(_ made: String?) -> String? {
        var parts = made.map { [$0] } ?? ["packetization-mode=1"]
        let lower = made?.lowercased() ?? ""
        if let profile = publication.video.format["profile-level-id"], !lower.contains("profile-level-id=") {
            parts.append("profile-level-id=\(profile)")
        }
        if let startBitRate, !lower.contains("x-google-start-bitrate=") {
            parts.append("x-google-start-bitrate=\(max(1, startBitRate / 1000))")
        }
        return made == nil && parts.count == 1 ? nil : parts.joined(separator: ";")
    }

    // MARK: - Candidates

    private func chosen(of candidates: [Candidate]) -> [Candidate] {
        var chosen: [Candidate] = []
        var spare: [Candidate] = []
        for candidate in candidates.prefix(Self.mostCandidates) {
            guard let read = ICECandidate(candidate.text), read.isUDP, let address = read.internetAddress else {
                continue
            }
            guard !address.isLinkLocal else { continue }
            var result = candidate
            var isSpare = false
            if read.isHost {
                if network.addresses.contains(where: { InternetAddress(text: $0) == address }),
                    network.publicAddress == nil
                {
                    // Named by the operator.
                } else if let other = network.publicAddress.flatMap({ InternetAddress(text: $0) }),
                    other.bytes.count == address.bytes.count
                {
                    result.text = read.replacingAddress(with: "\(other)")
                } else if address.isLoopback {
                    continue
                } else {
                    isSpare = !address.isPublic
                }
            }
            if isSpare { spare.append(result) } else if !chosen.contains(result) { chosen.append(result) }
        }
        // A machine in a private network is reached there, if it is reached at all.
        return chosen.contains { ICECandidate($0.text)?.isHost ?? false } ? chosen : chosen + spare
    }
}
