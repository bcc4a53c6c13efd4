import MixModel
import TextFormats

/// Adds the candidates of this side to its description, which is sent with all of them. Pure.
struct LocalCandidates: Sendable {
    /// A candidate of this side and the media section for which it was found.
    struct Candidate: Hashable, Sendable {
        var section: Int
        var text: String
    }

    /// Largest number of candidates: a machine may have many addresses.
    static let most = 64

    let network: WebRTCNetwork

    /// Returns a description with candidates at the end of their sections; `nil` if this machine could not be reached
    /// by any of them.
    ///
    /// - Parameter mend: Called with the section (−1 before the first) and each line, and with `nil` at the end of a
    ///   section. Returns the line that replaces it, if any.
    func insert(
        _ candidates: [Candidate], into made: String,
        mend: (_ section: Int, _ line: String?) -> String? = { $1 }
    ) -> String? {
        let chosen = chosen(of: candidates)
        guard !chosen.isEmpty else { return nil }
        var lines: [String] = []
        var section = -1
        func endSection() {
            guard section >= 0 else { return }
            if let line = mend(section, nil) { lines.append(line) }
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
            if let line = mend(section, line) { lines.append(line) }
        }
        endSection()
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    /// Returns the candidates to send: UDP, without addresses that are meaningless elsewhere.
    private func chosen(of candidates: [Candidate]) -> [Candidate] {
        var chosen: [Candidate] = []
        var spare: [Candidate] = []
        for candidate in candidates.prefix(Self.most) {
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
                    // The operator has configured this address.
                } else if let other = network.publicAddress.flatMap({ InternetAddress(text: $0) }),
                    other.bytes.count == address.bytes.count
                {
                    result.text = read.replacingAddress(with: "\(other)")
                } else if address.isLoopback {
                    continue
                } else {
                    isSpare = !address.isPublic
                }
            } else {
                result.text = read.hidingRelatedAddress()
            }
            if isSpare { spare.append(result) } else if !chosen.contains(result) { chosen.append(result) }
        }
        // A machine in a private network is reached there, if at all, and only its neighbours may know where.
        guard network.namesPrivateAddresses == true else { return chosen }
        return chosen.contains { ICECandidate($0.text)?.isHost ?? false } ? chosen : chosen + spare
    }
}
