/// Offers of WebRTC clients, for readers and for workers that answer them.
///
/// None is known to be a recording: each is written after the shape of a client's offers, and all have the same
/// fingerprint. Real offers are those of tests with media: Chromium's in `StudioTests`, GStreamer's in `WhipTests`.
public enum Offers {
    public static let fingerprint =
        "sha-256 6B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0:A1:2C:19:08"

    /// Written after the shape of Chromium's offers with `addTransceiver` and `sendonly`: VP8 first, H.264 in five
    /// profiles and both modes, TWCC. The session's number, ICE name and password are those of examples in RFC 9725.
    public static let chromium = """
        v=0
        o=- 5228595038118931041 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS 36c8c0d4
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=ice-ufrag:EsAw
        a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1
        a=ice-options:trickle
        a=fingerprint:\(fingerprint)
        a=setup:actpass
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=sendonly
        a=msid:36c8c0d4 a1
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=fmtp:63 111/111
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:13 CN/8000
        a=rtpmap:110 telephone-event/48000
        a=rtpmap:126 telephone-event/8000
        a=ssrc:3570614608 cname:4TOk42mSjXCkVIa6
        m=video 9 UDP/TLS/RTP/SAVPF 96 97 103 104 107 108 109 114 39 40 117 118 119 120 45 46
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=ice-ufrag:EsAw
        a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1
        a=ice-options:trickle
        a=fingerprint:\(fingerprint)
        a=setup:actpass
        a=mid:1
        a=extmap:14 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=sendonly
        a=msid:36c8c0d4 v1
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:103 H264/90000
        a=rtcp-fb:103 goog-remb
        a=rtcp-fb:103 transport-cc
        a=rtcp-fb:103 ccm fir
        a=rtcp-fb:103 nack
        a=rtcp-fb:103 nack pli
        a=fmtp:103 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:104 rtx/90000
        a=fmtp:104 apt=103
        a=rtpmap:107 H264/90000
        a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f
        a=rtpmap:108 rtx/90000
        a=fmtp:108 apt=107
        a=rtpmap:109 H264/90000
        a=rtcp-fb:109 nack
        a=rtcp-fb:109 nack pli
        a=fmtp:109 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:114 rtx/90000
        a=fmtp:114 apt=109
        a=rtpmap:39 H264/90000
        a=fmtp:39 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f
        a=rtpmap:40 rtx/90000
        a=fmtp:40 apt=39
        a=rtpmap:117 H264/90000
        a=fmtp:117 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=f4001f
        a=rtpmap:118 rtx/90000
        a=fmtp:118 apt=117
        a=rtpmap:119 H264/90000
        a=fmtp:119 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=64001f
        a=rtpmap:120 rtx/90000
        a=fmtp:120 apt=119
        a=rtpmap:45 AV1/90000
        a=fmtp:45 level-idx=5;profile=0;tier=0
        a=rtpmap:46 rtx/90000
        a=fmtp:46 apt=45
        a=ssrc-group:FID 2231627014 632943048
        a=ssrc:2231627014 cname:4TOk42mSjXCkVIa6
        a=ssrc:632943048 cname:4TOk42mSjXCkVIa6

        """

    /// Written after the shape of Firefox' offers: fingerprint of the session, candidates in the offer, mids in digits,
    /// OpenH264 in both modes, a data channel that is bundled only (RFC 8829 §5.2.1).
    public static let firefox = """
        v=0
        o=mozilla...THIS_IS_SDPARTA-99.0 3170482 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=fingerprint:\(fingerprint)
        a=group:BUNDLE 0 1 2
        a=ice-options:trickle
        a=msid-semantic:WMS *
        m=audio 9 UDP/TLS/RTP/SAVPF 109 9 0 8 101
        c=IN IP4 0.0.0.0
        a=sendrecv
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2/recvonly urn:ietf:params:rtp-hdrext:csrc-audio-level
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1
        a=fmtp:101 0-15
        a=ice-pwd:6db2a1fbcdd5cb9f0ba2d0f7ab2a09a1
        a=ice-ufrag:2bd2b4b4
        a=candidate:0 1 UDP 2122252543 2f6f8a3c-0b8c-4b7b-9d13-111111111111.local 51234 typ host
        a=mid:0
        a=rtcp-mux
        a=rtpmap:109 opus/48000/2
        a=rtpmap:9 G722/8000/1
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:101 telephone-event/8000
        a=setup:actpass
        m=video 9 UDP/TLS/RTP/SAVPF 120 124 126 127 97 98
        c=IN IP4 0.0.0.0
        a=sendrecv
        a=extmap:5 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=fmtp:126 profile-level-id=42e01f;level-asymmetry-allowed=1;packetization-mode=1
        a=fmtp:97 profile-level-id=42e01f;level-asymmetry-allowed=1
        a=fmtp:120 max-fs=12288;max-fr=60
        a=fmtp:124 apt=120
        a=fmtp:127 apt=126
        a=fmtp:98 apt=97
        a=ice-pwd:6db2a1fbcdd5cb9f0ba2d0f7ab2a09a1
        a=ice-ufrag:2bd2b4b4
        a=mid:1
        a=rtcp-fb:126 nack
        a=rtcp-fb:126 nack pli
        a=rtcp-fb:126 ccm fir
        a=rtcp-fb:126 goog-remb
        a=rtcp-fb:126 transport-cc
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:120 VP8/90000
        a=rtpmap:124 rtx/90000
        a=rtpmap:126 H264/90000
        a=rtpmap:127 rtx/90000
        a=rtpmap:97 H264/90000
        a=rtpmap:98 rtx/90000
        a=setup:actpass
        m=application 0 UDP/DTLS/SCTP webrtc-datachannel
        c=IN IP4 0.0.0.0
        a=bundle-only
        a=mid:2
        a=sctp-port:5000
        a=setup:actpass

        """

    /// Written after the shape of Safari's offers: H.264 first, high profile before baseline, H.265. That the video comes
    /// first, and the audio is bundled only and leaves its transport to the video, is what RFC 8829 §5.2.1 allows.
    public static let safari = """
        v=0
        o=- 8140962461612154000 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE video audio
        a=msid-semantic: WMS
        m=video 9 UDP/TLS/RTP/SAVPF 96 97 98 99 100 101
        c=IN IP4 0.0.0.0
        a=ice-ufrag:9/+o
        a=ice-pwd:EnnZvEfQ0RTa1Yo4sW2kcn8d
        a=fingerprint:\(fingerprint)
        a=setup:actpass
        a=mid:video
        a=extmap:5 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=sendonly
        a=rtcp-mux
        a=rtpmap:96 H264/90000
        a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640c1f
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:98 H264/90000
        a=fmtp:98 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:99 rtx/90000
        a=fmtp:99 apt=98
        a=rtpmap:100 H265/90000
        a=fmtp:100 level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST
        a=rtpmap:101 rtx/90000
        a=fmtp:101 apt=100
        m=audio 0 UDP/TLS/RTP/SAVPF 111
        c=IN IP4 0.0.0.0
        a=bundle-only
        a=mid:audio
        a=sendonly
        a=rtcp-mux
        a=rtpmap:111 opus/48000/2
        a=fmtp:111 minptime=10;useinbandfec=1

        """

    /// Written after the shape of aiortc's offers: candidates for all of its addresses, no header extension for
    /// congestion, `end-of-candidates`.
    public static let aiortc = """
        v=0
        o=- 3973480372 3973480372 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=audio 40125 UDP/TLS/RTP/SAVPF 96 9 0 8
        c=IN IP4 192.168.1.4
        a=sendonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=mid:0
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=rtpmap:96 opus/48000/2
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=candidate:5ea1a2 1 udp 2130706431 192.168.1.4 40125 typ host
        a=candidate:71d4b0 1 udp 1694498815 203.0.113.7 40125 typ srflx raddr 192.168.1.4 rport 40125
        a=end-of-candidates
        a=ice-ufrag:Gt7e
        a=ice-pwd:kd2mUDcwUPd6vdGiJGQNyB
        a=fingerprint:\(fingerprint.lowercased())
        a=setup:actpass
        m=video 40125 UDP/TLS/RTP/SAVPF 97 98 99 100 101 102
        c=IN IP4 192.168.1.4
        a=sendonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=mid:1
        a=rtcp-mux
        a=rtpmap:97 VP8/90000
        a=rtpmap:98 rtx/90000
        a=fmtp:98 apt=97
        a=rtpmap:99 H264/90000
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 goog-remb
        a=fmtp:99 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:100 rtx/90000
        a=fmtp:100 apt=99
        a=rtpmap:101 H264/90000
        a=fmtp:101 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:102 rtx/90000
        a=fmtp:102 apt=101
        a=ice-ufrag:Gt7e
        a=ice-pwd:kd2mUDcwUPd6vdGiJGQNyB
        a=fingerprint:\(fingerprint.lowercased())
        a=setup:actpass

        """

    /// Written after the shape of offers of GStreamer's `whipclientsink` and `webrtcbin`: one profile only, no sound,
    /// `profile-level-id` in upper case.
    public static let gstreamer = """
        v=0
        o=- 1284912341 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=ice-options:trickle
        a=group:BUNDLE video0
        m=video 9 UDP/TLS/RTP/SAVPF 96
        c=IN IP4 0.0.0.0
        a=setup:actpass
        a=ice-ufrag:Xk2AzHZ1kqZvRxPIQrUD3yZp2Qw5LTaP
        a=ice-pwd:0aDTmpTSQoqgSLHVrTcIeJ9j2zFf6PzS
        a=rtcp-mux
        a=rtcp-rsize
        a=sendonly
        a=rtpmap:96 H264/90000
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=framerate:30
        a=fmtp:96 packetization-mode=1; profile-level-id=42E01F; sprop-parameter-sets=Z0LAH9oBQBbsBEAAAPpAADqYI8YMqA==,aM48gA==
        a=extmap:1 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=ssrc:2984223841 msid:user2837 webrtctransceiver0
        a=mid:video0
        a=fingerprint:\(fingerprint.replacing("sha-256", with: "SHA-256"))

        """

    /// Written after the shape of OBS' offers (libdatachannel), as in reports of its users: the whole transport is stated
    /// for the session, another group follows the bundle, one format for each of the media.
    public static let obs = """
        v=0
        o=rtc 1000200030 0 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=group:LS 0 1
        a=msid-semantic:WMS *
        a=setup:actpass
        a=ice-ufrag:kQ7s
        a=ice-pwd:q3TmZ0aLr8WcYxUe5BnHvK
        a=ice-options:ice2,trickle
        a=fingerprint:\(fingerprint)
        m=audio 50102 UDP/TLS/RTP/SAVPF 111
        c=IN IP4 192.168.1.5
        a=mid:0
        a=sendonly
        a=ssrc:1100000001 cname:u2Hq9sVb
        a=rtcp-mux
        a=rtpmap:111 opus/48000/2
        a=fmtp:111 minptime=10;maxaveragebitrate=96000;stereo=1;sprop-stereo=1;useinbandfec=1
        a=candidate:1 1 UDP 2122317823 192.168.1.5 50102 typ host
        a=end-of-candidates
        m=video 50102 UDP/TLS/RTP/SAVPF 96
        c=IN IP4 192.168.1.5
        a=mid:1
        a=sendonly
        a=ssrc:1100000002 cname:u2Hq9sVb
        a=rtcp-mux
        a=rtpmap:96 H264/90000
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=fmtp:96 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1
        a=candidate:1 1 UDP 2122317823 192.168.1.5 50102 typ host
        a=end-of-candidates

        """

    /// All offers, with the names of their clients.
    public static let all: [(name: String, text: String)] = [
        ("chromium", chromium), ("firefox", firefox), ("safari", safari), ("aiortc", aiortc), ("gstreamer", gstreamer),
        ("obs", obs),
    ]
}
