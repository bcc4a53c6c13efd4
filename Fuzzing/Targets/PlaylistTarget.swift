import EncodedMedia
import MediaFormats

/// HLS playlists that a source's server sends one after another, parted by NUL, and what is fetched by them. The same bytes
/// are read as a segment.
enum PlaylistTarget: FuzzTarget {
    static let name = "playlists"

    static var seeds: [[UInt8]] {
        let live = """
            #EXTM3U
            #EXT-X-VERSION:6
            #EXT-X-TARGETDURATION:2
            #EXT-X-MEDIA-SEQUENCE:7
            #EXT-X-DISCONTINUITY-SEQUENCE:1
            #EXT-X-SERVER-CONTROL:HOLD-BACK=6.0
            #EXT-X-KEY:METHOD=AES-128,URI="key",IV=0x0123456789abcdef0123456789abcdef
            #EXT-X-MAP:URI="init.mp4",BYTERANGE="720@0"
            #EXTINF:2.0,
            #EXT-X-BYTERANGE:1000@720
            media.mp4
            #EXTINF:1.5,title
            #EXT-X-BYTERANGE:900
            media.mp4
            #EXT-X-DISCONTINUITY
            #EXT-X-KEY:METHOD=NONE
            #EXT-X-GAP
            #EXTINF:2,
            8.ts

            """
        let master = """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="n",URI="a.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=2000000,RESOLUTION=1280x720,CODECS="avc1.4d401f,mp4a.40.2",AUDIO="a"
            hd.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360
            sd.m3u8

            """
        let next =
            live.replacing("SEQUENCE:7", with: "SEQUENCE:8").replacing("#EXT-X-GAP\n", with: "") + "#EXT-X-ENDLIST\n"
        let texts = [live, master, "\(live)\0\(live)\0\(next)", live.replacing("\n", with: "\r\n")]
        // The first packet of a picture at 1 s.
        let packet =
            [0x47, 0x41, 0, 0x10, 0, 0, 1, 0xE0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 5, 0xBF, 0x21]
            + [UInt8](repeating: 0xFF, count: 170)
        return texts.map { Array($0.utf8) } + [packet]
    }

    static func run(_ bytes: [UInt8]) {
        for track in Track.allCases {
            let start = SegmentStart.ticks(of: track, in: bytes)
            require(start.map { 0..<SegmentStart.period ~= $0 } ?? true, "\(track) begins at \(start ?? 0)")
        }
        var follower = PlaylistFollower()
        for text in bytes.split(separator: 0, maxSplits: 7, omittingEmptySubsequences: false) {
            switch try? ReceivedPlaylist(Array(text)) {
            case .master(let variants): _ = ReceivedVariant.choose(variants)
            case .media(let segments):
                follower.took(segments, secondsUnchanged: text.count % 3 == 0 ? 30 : nil)
                follow(&follower, segments)
            case nil: break
            }
        }
    }

    /// Fetches what there is; every third segment is refused.
    private static func follow(_ follower: inout PlaylistFollower, _ playlist: ReceivedSegments) {
        for turn in 0..<100 {
            switch follower.step() {
            case .fetch(let segment, _):
                require(segment.vector.count == 16, "vector \(segment.vector)")
                if let range = segment.resource.range { require(range.lowerBound >= 0, "range \(range)") }
                if turn % 3 == 2 { follower.refused() } else { follower.fetched(segment) }
            case .load(let seconds):
                require(seconds.isFinite && seconds >= 0, "wait of \(seconds)")
                return
            default: return
            }
        }
    }
}
