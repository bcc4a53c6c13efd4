import EncodedMedia
import GStreamerKit
import MediaFormats
import TextFormats

/// The offer as sent: that of `webrtcbin`, completed with attributes that other implementations need. Pure.
enum WHIPOffer {
    /// Returns an offer whose formats are complete: the program's profile and level, without which some servers find no
    /// matching H.264 format (RFC 6184 §8.2.2), and Opus with its two channels (RFC 7587 §7).
    static func text(of made: String, for tracks: WHIPTracks) -> String {
        var section = Substring()
        var lines: [String] = []
        var numbers: (h264: Substring?, opus: Substring?)
        /// Appends the parameters of a format that has no line of its own.
        func finish() {
            if section == "video", let number = numbers.h264, let profile = profile(of: tracks.video) {
                lines.append(
                    "a=fmtp:\(number) packetization-mode=1;level-asymmetry-allowed=1;profile-level-id=\(profile)")
            }
            if section == "audio", let number = numbers.opus { lines.append("a=fmtp:\(number) \(opus)") }
            numbers = (nil, nil)
        }
        for line in made.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).map({ Substring($0) }) {
            if line.hasPrefix("m=") {
                finish()
                section = line.dropFirst(2).prefix { $0 != " " }
            }
            guard line.hasPrefix("a=rtpmap:") || line.hasPrefix("a=fmtp:") else {
                lines.append(String(line))
                continue
            }
            let number = line.drop { $0 != ":" }.dropFirst().prefix { $0 != " " }
            let value = line.drop { $0 != " " }.dropFirst()
            let format = value.lowercased()
            if line.hasPrefix("a=rtpmap:") {
                if format.hasPrefix("h264/") { numbers.h264 = number }
                if format.hasPrefix("opus/") { numbers.opus = number }
                lines.append(format.hasPrefix("opus/") ? "a=rtpmap:\(number) opus/48000/2" : String(line))
            } else if number == numbers.h264 {
                // The whole line is rewritten at the end of the section.
                if profile(of: tracks.video) == nil { lines.append(String(line)) }
            } else if number != numbers.opus {
                lines.append(String(line))
            }
        }
        finish()
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    private static let opus = "minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1"

    /// Profile, constraints and level of a configuration record (ISO/IEC 14496-15 §5.3.3.1.2) in hexadecimal digits,
    /// with the constraints that browsers write: servers compare them byte by byte.
    private static func profile(of configuration: CodecConfiguration?) -> String? {
        guard let bytes = configuration?.bytes, bytes.count >= 4 else { return nil }
        let own = Hexadecimal.text(bytes[1...3])
        let usual =
            switch WebRTCOffer.H264Profile(profileLevelID: own) {
            case .constrainedBaseline: "42e0"
            case .baseline: "4200"
            case .main: "4d00"
            case .high: "6400"
            case nil: String(own.prefix(4))
            }
        return usual + own.suffix(2)
    }
}
