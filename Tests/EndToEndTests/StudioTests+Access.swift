import Testing

/// The publish page for people with a keyboard, a screen reader, weak sight or a phone.
extension StudioTests {
    @Test(.timeLimit(.minutes(6)), arguments: [1400, 390])
    func thePublishPageIsAccessible(width: Int) async throws {
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on",
        ]
        try await ControlStage.run(environment: environment) { stage in
            let page = try await BrowserPage.open(
                "http://127.0.0.1:\(stage.client.port)/publish/show#user=alice", in: stage.directory, width: width,
                options: ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"])
            let state = "document.getElementById('state').textContent"
            try await page.wait(for: "document.getElementById('preview').srcObject")
            #expect(try await page.faults() == [])
            // The keyboard alone is enough to go live, and to stop.
            var stops: [String] = []
            while stops.count < 20, stops.last != "go" {
                try await page.strike(.tab)
                stops.append(try await page.evaluate("document.activeElement.id"))
            }
            #expect(stops == ["watch", "go"])
            try await page.strike(.enter)
            try await page.wait(for: "\(state) === 'You are live.'")
            #expect(try await page.faults() == [], "live")
            try await page.strike(.enter)
            try await page.wait(for: "\(state) === 'You are no longer live.'")
            #expect(await page.complaints == [])
            await page.close()
        }
    }
}
