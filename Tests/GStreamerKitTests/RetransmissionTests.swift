import CGStreamer
import Testing

@testable import GStreamerKit

@Suite(.timeLimit(.minutes(3))) struct RetransmissionTests {
    /// Whatever `webrtcbin` has set: it sets the same for all media of a bundle.
    @Test(arguments: WebRTCPeer.Media.allCases, [true, false])
    func lostVideoIsRequestedAgainAndLostAudioIsNot(media: WebRTCPeer.Media, wasSet: Bool) async throws {
        let pipeline = try Pipeline(
            "rtpjitterbuffer name=buffer do-retransmission=\(wasSet) "
                + "! capsfilter name=last caps=application/x-rtp,media=\(media) ! identity name=chain ! fakesink",
            name: "retransmission")
        let (buffer, last, chain) = (
            try pipeline.element("buffer"), try pipeline.element("last"), try pipeline.element("chain")
        )
        #expect(buffer.text("do-retransmission") == "\(wasSet)")
        let watch = PeerWatch(chains: [media: chain.reference]) { _ in }
        let pad = try #require(gst_element_get_static_pad(last.reference.pointer, "src"))
        watch.link(pad)
        gst_object_unref(pad)
        #expect(buffer.text("do-retransmission") == (media == .video ? "true" : "false"))
        #expect(chain.isLinked("sink"))
        watch.release()
        await pipeline.tearDown()
    }
}
