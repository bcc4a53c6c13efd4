import EncodedMedia

/// Pulls MPEG-TS over SRT as caller, listener or in rendezvous.
package enum SRTPull: WorkerPullKind {
    package static let name = "SRT"
    package static let summary =
        "MPEG-TS; what is not H.264 or AAC is transcoded. `?mode=` caller, listener or rendezvous, `passphrase=`, `streamid=`, `latency=`"
    package static let schemes = [PullScheme("srt")]
    package static let elements =
        [
            PullElement("srtsrc", package: "gstreamer1.0-plugins-bad"),
            PullElement("tsdemux", package: "gstreamer1.0-plugins-bad"),
        ] + PullTail.elements
    package static let options = PullOptions(idleTimeout: 5, latency: SRTOptions.standardLatency)

    package static func head(for address: PullAddress, latency: MediaTime) throws(PullEnd) -> PullHead {
        let options = try SRTOptions(address, latency: latency)
        return PullHead(
            description: """
                srtsrc name=source auto-reconnect=false keep-listening=false ! \
                video/mpegts,systemstream=true ! \(PullTail.decoder("all"))
                """,
            properties: options.properties.map { PullHead.Property("source", $0.name, $0.value) },
            isRendezvous: options.mode == .rendezvous)
    }
}
