extension OrchestratorError {
    static let pagesAreOff = OrchestratorError(
        .invalid, "pages-off", "Web pages as sources are switched off", detail: "the service opens no pages",
        field: "url", expected: "pages.enabled: true and ingest.rtmp.listen in the configuration of the service")

    static func tooManyPages(_ limit: Int) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "pages-full", "There are too many web pages", detail: "the limit is \(limit), pages.max",
            retryAfter: 10)
    }

    static func noCoresForPage(_ cores: Double) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "pages-full", "The machine has no capacity for another page",
            detail: "a page needs \(cores) cores (pages.cores), and programs use the others", retryAfter: 10)
    }
}
