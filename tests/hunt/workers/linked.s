// Empty: lets Go accept the functions without a body in main.go.
