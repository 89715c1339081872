"""Operations of the client: generators that yield steps and receive their answers. They do no input or output."""
