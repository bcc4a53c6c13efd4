extension OrchestratorError {
    package static func layoutNotFound(_ name: String) -> OrchestratorError {
        .notFound("layout", name, cure: "create it with PUT /v1/layouts/\(name), or save \(name).json")
    }

    package static func versionNotFound(_ name: String, _ version: Int) -> OrchestratorError {
        .notFound(
            "layout-version", "\(name), version \(version)",
            cure: "GET /v1/layouts/\(name)/versions lists the versions kept"
        )
    }
}
