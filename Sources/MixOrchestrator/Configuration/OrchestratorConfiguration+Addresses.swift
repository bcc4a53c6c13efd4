extension OrchestratorConfiguration {
    /// The addresses of the service, in sentences that it logs when it starts.
    ///
    /// Paths stand before the addresses: the log redacts the path of every URL, which may contain a stream key.
    var addresses: [String] {
        let address = "\(http.tls == nil ? "http" : "https")://\(listen)"
        var sentences = [
            "serving \(address), data in \(data)",
            "programs can be watched at /watch/{room} and /live/{room}.flv of \(address)",
        ]
        if webrtc?.takesPublishers ?? false {
            sentences.append("browsers can publish at /publish/{room} of \(address)")
        }
        if let ingest { sentences.append("streams can be published to \(ingest.invitation)") }
        return sentences
    }
}
